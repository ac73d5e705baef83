import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { ROOMS } from '../rooms.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const rooms = ROOMS.filter((room) => existsSync(join(root, room, 'package.json')));

interface Package {
  readonly name: string;
  readonly workspaces?: readonly string[];
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const packageOf = (room: string) => JSON.parse(readFileSync(join(root, room, 'package.json'), 'utf8')) as Package;
const roomOf = new Map(rooms.map((room) => [packageOf(room).name, room]));

test.each(rooms)('%s: tsconfig.json references the packages that it depends on', (room) => {
  const { references = [] } = JSON.parse(readFileSync(join(root, room, 'tsconfig.json'), 'utf8')) as {
    references?: { path: string }[];
  };
  const wanted = Object.keys(packageOf(room).dependencies ?? {}).flatMap((name) => roomOf.get(name) ?? []);
  expect(references.map(({ path }) => join(room, path)).sort()).toEqual(wanted.sort());
});

test('`npm start` compiles every service, although it does not import them', () => {
  const dependencies = Object.keys(packageOf('tools/local').dependencies ?? {});
  const services = rooms.filter((room) => room.startsWith('services/')).map((room) => packageOf(room).name);
  expect(dependencies).toEqual(expect.arrayContaining(services));
});

test.each(rooms)('%s has a README with owned and excluded parts and invariants', (room) => {
  const text = readFileSync(join(root, room, 'README.md'), 'utf8');
  for (const heading of ['owns', 'does not own', 'invariants']) {
    expect(text.toLowerCase()).toMatch(new RegExp(`^##+ ${heading}`, 'm'));
  }
});

const contributing = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');

test('CONTRIBUTING.md links the README of every package', () => {
  const { workspaces = [] } = packageOf('');
  // Some workspaces are nested deeper than ROOMS; some rooms have a README and no package.
  const pages = [...new Set([...ROOMS, ...workspaces])]
    .map((room) => `${room}/README.md`)
    .filter((page) => existsSync(join(root, page)));
  expect(pages.length).toBeGreaterThan(rooms.length);
  expect(pages.filter((page) => !contributing.includes(`](${page})`))).toEqual([]);
});

test('the tables of CONTRIBUTING.md list every npm script of the root', () => {
  const tables = contributing
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .join('\n');
  const scripts = Object.keys(packageOf('').scripts ?? {});
  expect(scripts.length).toBeGreaterThan(10);
  expect(scripts.filter((name) => !new RegExp(`\`(?:npm (?:run )?)?${name}(?=[\` ])`).test(tables))).toEqual([]);
});

/** Packages that are started as programs without an import. */
const STARTED: Readonly<Record<string, readonly string[]>> = {
  'tools/local': [
    ...rooms.filter((room) => room.startsWith('services/')).map((room) => packageOf(room).name),
    '@gateway/provider-simulator',
  ],
  'tests/benchmarks': ['@gateway/provider-simulator'],
};

test.each(rooms)('%s depends on exactly the packages that it imports', (room) => {
  const { dependencies = {}, devDependencies = {} } = packageOf(room);
  const ofAll = packageOf('').devDependencies ?? {};
  const imported = importsOf(room);
  const isUsed = (name: string): boolean =>
    imported.has(name) || (STARTED[room] ?? []).includes(name) || imported.has(name.replace(/^@types\//, ''));
  expect(Object.keys(dependencies).filter((name) => !isUsed(name))).toEqual([]);
  const declared = new Set([...Object.keys({ ...dependencies, ...devDependencies, ...ofAll }), packageOf(room).name]);
  expect([...imported].filter((name) => !declared.has(name)).sort()).toEqual([]);
});

/** Returns the packages that the package's own files import. */
function importsOf(room: string): Set<string> {
  const names = new Set<string>();
  const files = readdirSync(join(root, room), { recursive: true, encoding: 'utf8' }).filter(
    (file) => !/(?:^|\/)(?:dist|node_modules)\//.test(file),
  );
  // An inner package is checked separately.
  const inner = files.flatMap((file) =>
    file.endsWith('/package.json') ? [file.slice(0, -'package.json'.length)] : [],
  );
  for (const file of files) {
    if (!/\.(?:tsx?|mjs|js)$/.test(file) || inner.some((directory) => file.startsWith(directory))) continue;
    const text = readFileSync(join(root, room, file), 'utf8');
    for (const [, name = ''] of text.matchAll(/(?:\bfrom |\bimport\(|\bimport |\brequire\()'([^'./\s][^'\s]*)'/g)) {
      if (name.startsWith('node:')) continue;
      names.add(
        name
          .split('/')
          .slice(0, name.startsWith('@') ? 2 : 1)
          .join('/'),
      );
    }
  }
  return names;
}

test.each(rooms)('%s runs its own tests with `npm test`', (room) => {
  expect(packageOf(room).scripts?.['test']).toBe(
    `node ${relative(join(root, room), join(root, 'tools/check/test.mjs'))} ${room}`,
  );
});
