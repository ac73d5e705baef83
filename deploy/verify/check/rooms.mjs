import { existsSync, readdirSync } from 'node:fs';

const ROOT = new URL('../../../', import.meta.url);

/** Folders that hold rooms. */
const TOPS = ['libs', 'services', 'deploy', 'deploy/verify'];

/** Every room, `libs/bus` or `deploy/verify/e2e`: a folder with a README in one that holds rooms. */
export const ROOMS = TOPS.flatMap((top) =>
  readdirSync(new URL(top, ROOT))
    .map((name) => `${top}/${name}`)
    .filter((path) => !TOPS.includes(path) && existsSync(new URL(`${path}/README.md`, ROOT))),
);

/**
 * The rooms that are meant: each word is a room's path or its last part, a trailing slash is ignored. Throws for a word that
 * is no room, with the list of those that there are.
 */
export function selectRooms(words, rooms = ROOMS) {
  const selected = words.map((word) => {
    const name = word.replace(/^\.\//, '').replace(/\/+$/, '');
    const found = rooms.find((room) => room === name || room.split('/').at(-1) === name);
    if (found === undefined) {
      throw new Error(`"${word}" is not a room; rooms are:\n${rooms.map((room) => `  ${room}`).join('\n')}`);
    }
    return found;
  });
  return [...new Set(selected)];
}
