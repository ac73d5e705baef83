import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** Bytes of test files per group: seconds to about a minute of one worker. */
const GROUP_BYTES = 100_000;
const SUITE = /^(?!.*(?:^|\/)(?:dist|node_modules)\/).*(?<!\.system)\.test\.ts$/;

/**
 * Writes files to `directory` that each load a part of a package's test files, except the system
 * tests, with about the same number of bytes.
 * @param {string} root
 * @param {string} room path of the package from the root
 * @param {string} directory
 */
export function groupSuites(root, room, directory) {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const suites = readdirSync(join(root, room), { recursive: true })
    .filter((path) => SUITE.test(path))
    .map((path) => ({ path: `${room}/${path}`, bytes: statSync(join(root, room, path)).size }));
  const total = suites.reduce((sum, { bytes }) => sum + bytes, 0);
  const length = Math.min(suites.length, Math.ceil(total / GROUP_BYTES));
  const groups = Array.from({ length }, () => ({ paths: [], bytes: 0 }));
  for (const { path, bytes } of suites.sort((a, b) => b.bytes - a.bytes || (a.path < b.path ? -1 : 1))) {
    const smallest = groups.reduce((a, b) => (b.bytes < a.bytes ? b : a));
    smallest.paths.push(path);
    smallest.bytes += bytes;
  }
  const up = relative(directory, root);
  groups.forEach(({ paths }, index) => {
    const compiled = (path) => `${up}/${path.replace(/ts$/, 'js')}`;
    const lines = paths.map((path) => `await loadSuite('${path}', () => import('${compiled(path)}'));\n`);
    writeFileSync(join(directory, `group-${index + 1}.test.ts`), lines.join(''));
  });
}
