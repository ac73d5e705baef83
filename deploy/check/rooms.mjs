import { readdirSync } from 'node:fs';

/** Every room: `libs/…`, `services/…`, `deploy/…`. */
export const ROOMS = ['libs', 'services', 'deploy'].flatMap((top) =>
  readdirSync(new URL(`../../${top}`, import.meta.url), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => `${top}/${entry.name}`),
);

/**
 * The rooms that are meant: each word is a room's path or its last part, a trailing slash is ignored. Throws for a word that
 * is no room, with the list of those that there are.
 */
export function selectRooms(words, rooms = ROOMS) {
  const selected = words.map((word) => {
    const name = word.replace(/^\.\//, '').replace(/\/+$/, '');
    const found = rooms.find((room) => room === name || room.split('/')[1] === name);
    if (found === undefined) {
      throw new Error(`"${word}" is not a room; rooms are:\n${rooms.map((room) => `  ${room}`).join('\n')}`);
    }
    return found;
  });
  return [...new Set(selected)];
}
