import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { ROOMS, selectRooms } from '../rooms.mjs';

test('a room is meant by its path or by its last part, each once and in the order given', () => {
  expect(selectRooms(['services/billing', 'bus', 'billing', './libs/bus/'])).toEqual(['services/billing', 'libs/bus']);
  expect(selectRooms([])).toEqual([]);
});

test('no two rooms have the same last part', () => {
  expect(new Set(ROOMS.map((room) => room.split('/').at(-1))).size).toBe(ROOMS.length);
  for (const room of ROOMS) expect(selectRooms([room.split('/').at(-1) ?? ''])).toEqual([room]);
});

test.each(['biling', 'services', '', '--watch', 'services/billing/src'])('"%s" is refused with the rooms', (word) => {
  expect(() => selectRooms(['billing', word])).toThrow(/is not a room; rooms are:\n {2}libs\/bus\n/);
});

test.each([[], ['--system']])('the command refuses an unknown room before it compiles anything (%s)', (...lane) => {
  const program = fileURLToPath(new URL('../test.mjs', import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [program, ...lane, 'biling'], { encoding: 'utf8' });
  expect(status).toBe(2);
  expect(stderr).toMatch(/"biling" is not a room[^]*\n {2}services\/billing\n/);
});
