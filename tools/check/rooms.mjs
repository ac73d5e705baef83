import { existsSync, readdirSync } from 'node:fs';

const ROOT = new URL('../../', import.meta.url);

/** Folders that contain packages. */
const TOPS = ['libs', 'services', 'tools', 'tests', 'deploy'];
const NO_TESTS = /(?:^|\/)(?:dist|node_modules)\//;
const TEST = /(?:\.system)?\.test\.ts$/;

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
  const found = testFiles(rooms).filter((path) => {
    const last = path.split('/').at(-1);
    return path === name || last === name || endings(path).some((end) => end.endsWith(`/${name}`));
  });
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

/** Returns the path without `.ts`, without `.test.ts`, and without `.system.test.ts`. */
function endings(path) {
  return [path.replace(/\.ts$/, ''), path.replace(/\.test\.ts$/, ''), path.replace(TEST, '')];
}

function testFiles(rooms) {
  return rooms.flatMap((room) =>
    readdirSync(new URL(room, ROOT), { recursive: true })
      .map((file) => `${room}/${file}`)
      .filter((path) => TEST.test(path) && !NO_TESTS.test(path)),
  );
}
