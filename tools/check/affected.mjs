import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Turborepo's hashes of all packages at the last green run of all their tests. */
const GREEN = '.cache/green.json';

/** Returns Turborepo's hash of each workspace's own files and settings, by path. */
export function hashPackages(root) {
  const json = execFileSync('node_modules/.bin/turbo', ['run', 'test', '--dry=json'], {
    cwd: root,
    env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1', TURBO_NO_UPDATE_NOTIFIER: '1' },
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 256 * 1024 * 1024,
  });
  return Object.fromEntries(JSON.parse(json).tasks.map(({ directory, hash }) => [directory, hash]));
}

/** Stores the hashes of a green run. */
export function keepGreen(root, hashes) {
  mkdirSync(dirname(`${root}/${GREEN}`), { recursive: true });
  writeFileSync(`${root}/${GREEN}`, JSON.stringify(hashes));
}

/** Returns the hashes of the last green run; none before the first. */
export function readGreen(root) {
  try {
    return JSON.parse(readFileSync(`${root}/${GREEN}`, 'utf8'));
  } catch {
    return {};
  }
}

/**
 * Tests that represent a room after a change in services only. All tests of the room run after
 * other changes, with --force and in CI.
 */
export const CORE = {
  // Official clients, money, limits, operators and traces, and the index of tests.
  'tests/e2e': [
    'one-call',
    'contract/openai-methods',
    'contract/anthropic-methods',
    'contract/coverage',
    'contract/endpoints',
    'contract/limits',
    'wallet-race',
    'operator-api',
    'trace',
  ],
  // Files and imports of all packages.
  'tools/check': ['architecture', 'lockfile', 'workspaces'],
};

/** Returns the packages with other hashes than in the last green run. */
export function changedPackages(hashes, green) {
  return Object.keys(hashes).filter((path) => hashes[path] !== green[path]);
}

/** Whether only services changed, so that the tests of `CORE` are enough. */
export function isCoreEnough(changed) {
  return changed.length > 0 && changed.every((path) => path.startsWith('services/'));
}

/**
 * Returns the rooms whose tests a change can affect: changed packages and all that depend on them.
 * A room without a package tests files of the whole repository, so each change affects it.
 * @param {readonly string[]} rooms
 * @param {readonly string[]} changed
 * @param {Record<string, { name: string }>} manifests the `package.json` of each package by path
 */
export function affectedRooms(rooms, changed, manifests) {
  if (changed.length === 0) return [];
  const affected = new Set(changed);
  // Grows while it is iterated over: dependents of dependents are found too.
  for (const path of affected) {
    const { name } = manifests[path];
    for (const [other, { dependencies, devDependencies }] of Object.entries(manifests)) {
      if (name in { ...dependencies, ...devDependencies }) affected.add(other);
    }
  }
  const isAffected = (room) => [...affected].some((path) => path === room || path.startsWith(`${room}/`));
  return rooms.filter((room) => isAffected(room) || !(room in manifests));
}
