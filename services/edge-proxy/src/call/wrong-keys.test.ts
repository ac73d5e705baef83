import { expect, test } from '@jest/globals';
import { WrongKeys } from './wrong-keys.js';

/** So many keys that nobody has, each asked for if it may be; how many were. */
function present(keys: WrongKeys, network: string, count: number, nowMs: number): number {
  let asked = 0;
  for (let each = 0; each < count; each += 1) {
    if (!keys.mayAsk(network, nowMs)) continue;
    asked += 1;
    keys.refused(network, nowMs);
  }
  return asked;
}

test('after 30 keys that nobody has, a network has five look-ups a second; others notice nothing', () => {
  const keys = new WrongKeys();
  expect(present(keys, 'a', 1_000, 0)).toBe(30 + 5);
  const later = [200, 400, 600, 800, 1_000].map((nowMs) => present(keys, 'a', 100, nowMs));
  expect(later).toEqual([1, 1, 1, 1, 1]);
  expect(present(keys, 'b', 30, 1_000)).toBe(30);
});

test('keys that are good take nothing, however many are asked for', () => {
  const keys = new WrongKeys();
  for (let each = 0; each < 10_000; each += 1) expect(keys.mayAsk('a', 0)).toBe(true);
});

test('a wave that was asked for before its first answer is charged too: it is paid off in at most a minute', () => {
  const keys = new WrongKeys();
  for (let each = 0; each < 8_000; each += 1) expect(keys.mayAsk('a', 0)).toBe(true);
  for (let each = 0; each < 8_000; each += 1) keys.refused('a', 0);
  expect(present(keys, 'a', 1_000, 60_000)).toBe(5);
  const quiet = new WrongKeys();
  for (let each = 0; each < 8_000; each += 1) quiet.refused('a', 0);
  for (let each = 0; each < 100; each += 1) expect(quiet.mayAsk('a', 62_000)).toBe(true);
});
