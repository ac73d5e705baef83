import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { ROOMS, selectTests } from '../rooms.mjs';

test('a package is selected by its path or last part, each once in order', () => {
  expect(selectTests(['services/billing', 'bus', 'billing', './libs/bus/'], 'inner')).toEqual({
    rooms: ['services/billing', 'libs/bus'],
    files: [],
  });
  expect(selectTests([], 'inner')).toEqual({ rooms: [], files: [] });
});

test('a test file is selected by its path, name, or name without ending', () => {
  const here = 'tools/check/src/rooms.test.ts';
  for (const word of [here, `./${here}`, 'rooms.test.ts', 'rooms.test', 'rooms', 'check/src/rooms']) {
    expect(selectTests([word, 'bus'], 'inner')).toEqual({ rooms: ['libs/bus'], files: [here] });
  }
});

test("a name selects files of its lane or reports the other lane's command", () => {
  expect(selectTests(['rolling'], 'system').files).toEqual(['tests/e2e/src/upgrade/rolling.system.test.ts']);
  expect(() => selectTests(['rooms'], 'system')).toThrow('is a test of the other lane: npm test -- rooms');
  expect(() => selectTests(['rolling'], 'inner')).toThrow('npm run test:system -- rolling');
});

test('no two packages have the same last part', () => {
  expect(new Set(ROOMS.map((room) => room.split('/').at(-1))).size).toBe(ROOMS.length);
  for (const room of ROOMS) expect(selectTests([room.split('/').at(-1) ?? ''], 'inner').rooms).toEqual([room]);
});

test.each(['biling', 'services', '', '--watch', 'services/billing/src'])(
  '"%s" is refused with the list of packages',
  (word) => {
    expect(() => selectTests(['billing', word], 'inner')).toThrow(
      /is neither a room nor a test file; rooms are:\n {2}libs\/bus\n/,
    );
  },
);

test.each([[], ['--system']])('the command refuses an unknown package before it compiles (%s)', (...lane) => {
  const program = fileURLToPath(new URL('../test.mjs', import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [program, ...lane, 'biling'], { encoding: 'utf8' });
  expect(status).toBe(2);
  expect(stderr).toMatch(/"biling" is neither a room nor a test file[^]*\n {2}services\/billing\n/);
});
