import { expect, test } from '@jest/globals';
import { nextDelayMs } from './index.js';

const lowest = { baseMs: 100, maxMs: 1_000, random: () => 0 };
const highest = { ...lowest, random: () => 0.999_999 };

test('doubles up to its bound, with the upper half at random', () => {
  expect([0, 1, 2, 3, 4, 50].map((attempt) => nextDelayMs(attempt, lowest))).toEqual([50, 100, 200, 400, 500, 500]);
  expect([0, 1, 2, 3, 4, 50].map((attempt) => nextDelayMs(attempt, highest))).toEqual([100, 200, 400, 800, 1000, 1000]);
});

test('stays finite for any count of attempts', () => {
  expect(nextDelayMs(1e9, highest)).toBe(1_000);
  expect(nextDelayMs(-1, highest)).toBe(100);
});
