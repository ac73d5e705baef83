import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';

const ROOT = new URL('../../', import.meta.url);

/** Folders that contain packages. */
const TOPS = ['libs', 'services', 'tools', 'tests', 'deploy'];
/** Parts of a test file's name that a user may leave out. */
const ENDINGS = ['', '.ts', '.test.ts', '.system.test.ts'];
const NO_TESTS = /(?:^|\/)(?:dist|node_modules)\//;

/** Every package, such as `libs/bus`: a folder with a README in one of these folders. */
export const ROOMS = TOPS.flatMap((top) =>
  readdirSync(new URL(top, ROOT))
    .map((name) => `${top}/${name}`)
    .filter((path) => !TOPS.includes(path) && existsSync(new URL(`${path}/README.md`, ROOT))),
);

/**
 * Selects packages and test files. A word is a package's path or its last part, or a test file's
 * path or its name with or without endings, optionally with leading folders. A trailing slash is
 * ignored. A name of several files selects all of them.
 * @param lane `inner` or `system`: excludes files of the other lane
 * @returns paths from the root, each once, in the order given
 * @throws Error with the list of packages for an unknown word, or with the other lane's command
 */
export function selectTests(words, lane, rooms = ROOMS) {
  const files = new Set();
  const selected = new Set();
  for (const word of words) {
    const name = word.replace(/^\.\//, '').replace(/\/+$/, '');
    const room = rooms.find((path) => path === name || path.split('/').at(-1) === name);
    if (room !== undefined) selected.add(room);
    else for (const file of filesNamed(name, word, lane, rooms)) files.add(file);
  }
  return { rooms: [...selected], files: [...files] };
}

function filesNamed(name, word, lane, rooms) {
  const found = testFiles(rooms).filter((path) => ENDINGS.some((ending) => `/${path}`.endsWith(`/${name}${ending}`)));
  if (found.length === 0) {
    const list = rooms.map((room) => `  ${room}`).join('\n');
    throw new Error(`"${word}" is neither a room nor a test file; rooms are:\n${list}`);
  }
  const ofLane = found.filter((path) => path.endsWith('.system.test.ts') === (lane === 'system'));
  if (ofLane.length > 0) return ofLane;
  throw new Error(
    `"${word}" is a test of the other lane: npm ${lane === 'system' ? 'test' : 'run test:system'} -- ${word}`,
  );
}

function testFiles(rooms) {
  return rooms.flatMap((room) =>
    readdirSync(new URL(room, ROOT), { recursive: true })
      .map((file) => `${room}/${file}`)
      .filter((path) => path.endsWith('.test.ts') && !NO_TESTS.test(path)),
  );
}

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
  mkdirSync(`${root}/.cache`, { recursive: true });
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
  // Files, imports and metrics of all packages.
  'tools/check': ['architecture', 'lockfile', 'metrics-page', 'workspaces'],
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
