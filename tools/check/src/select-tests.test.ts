import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { temporaryDirectory } from '@gateway/testkit';
import { affectedRooms, changedPackages, CORE, hashPackages, isCoreEnough, selectTests } from '../rooms.mjs';
import { groupSuites } from '../group-suites.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));

const MANIFESTS = {
  'libs/a': { name: '@gateway/a' },
  'libs/b': { name: '@gateway/b', dependencies: { '@gateway/a': '0.1.0' } },
  'services/c': { name: '@gateway/c', devDependencies: { '@gateway/b': '0.1.0' } },
  'services/c/web': { name: '@gateway/c-web' },
  'services/d': { name: '@gateway/d' },
};
const GREEN = { 'libs/a': '1', 'libs/b': '1', 'services/c': '1', 'services/c/web': '1', 'services/d': '1' };
const ROOMS = ['libs/a', 'libs/b', 'services/c', 'services/d', 'deploy/docker'];

test.each([
  [{}, []],
  [{ 'services/d': '2' }, ['services/d', 'deploy/docker']],
  [{ 'libs/a': '2' }, ['libs/a', 'libs/b', 'services/c', 'deploy/docker']],
  [{ 'services/c/web': '2' }, ['services/c', 'deploy/docker']],
])('a change of %j affects the tests of %j', (changes, affected) => {
  expect(affectedRooms(ROOMS, changedPackages({ ...GREEN, ...changes }, GREEN), MANIFESTS)).toEqual(affected);
});

test('without a green run all packages are affected', () => {
  expect(affectedRooms(ROOMS, changedPackages(GREEN, {}), MANIFESTS)).toEqual(ROOMS);
});

test.each([
  [['services/c'], true],
  [['services/c', 'services/c/web'], true],
  [['services/c', 'libs/a'], false],
  [['tests/e2e'], false],
  [[], false],
])('after changes of %j the core tests are enough: %j', (changed, isEnough) => {
  expect(isCoreEnough(changed)).toBe(isEnough);
});

test('each core test is one file of its room', () => {
  for (const [room, names] of Object.entries(CORE)) {
    const { files } = selectTests(names, 'inner', [room]);
    expect(files.map((file) => file.replace(/^.*\/src\/|\.test\.ts$/g, ''))).toEqual(names);
  }
});

test('Turborepo hashes every package of a service', () => {
  const hashes = hashPackages(root);
  expect(hashes['services/billing']).toMatch(/^[0-9a-f]{16}$/);
  expect(hashes['services/dashboard/web']).toMatch(/^[0-9a-f]{16}$/);
});

test('groups contain each test file once, without system tests and compiled code', () => {
  const directory = temporaryDirectory('groups');
  const files = ['src/a.test.ts', 'src/b/c.test.ts', 'src/d.system.test.ts', 'dist/e.test.ts', 'src/f.ts'];
  for (const file of files) {
    mkdirSync(join(directory.path, 'room', file, '..'), { recursive: true });
    writeFileSync(join(directory.path, 'room', file), `// ${'x'.repeat(100_000)}`);
  }
  groupSuites(directory.path, 'room', join(directory.path, 'groups'));
  const groups = readdirSync(join(directory.path, 'groups')).map((name) =>
    readFileSync(join(directory.path, 'groups', name), 'utf8'),
  );
  expect(groups.sort()).toEqual([
    "await loadSuite('room/src/a.test.ts', () => import('../room/src/a.test.js'));\n",
    "await loadSuite('room/src/b/c.test.ts', () => import('../room/src/b/c.test.js'));\n",
  ]);
  directory.remove();
});

test('tsc is TypeScript 7, not the TypeScript 6 of dependency-cruiser', () => {
  expect(execFileSync('node_modules/.bin/tsc', ['--version'], { cwd: root, encoding: 'utf8' })).toMatch(/^Version 7\./);
});
