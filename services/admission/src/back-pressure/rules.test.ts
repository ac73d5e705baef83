import { expect, test } from '@jest/globals';
import { backPressureReasonOf } from './rules.js';

const DAY_MS = 86_400_000;
const NOW = 100 * DAY_MS;

// Covers r14
test('admission stops above 85 percent of Redis, and never without a limit', () => {
  expect(backPressureReasonOf({ redis: { usedBytes: 850, maxBytes: 1_000 }, usage: null }, NOW)).toBeNull();
  expect(backPressureReasonOf({ redis: { usedBytes: 851, maxBytes: 1_000 }, usage: null }, NOW)).toMatch('redis');
  expect(backPressureReasonOf({ redis: { usedBytes: 851, maxBytes: 0 }, usage: null }, NOW)).toBeNull();
});

// Covers r15
test('admission stops above 90 percent of the stream and at events older than seven days', () => {
  const usage = (bytes: number, ageMs: number | null) => ({
    redis: null,
    usage: { bytes, bytesMax: 1_000, firstAt: ageMs === null ? null : NOW - ageMs },
  });
  expect(backPressureReasonOf(usage(900, null), NOW)).toBeNull();
  expect(backPressureReasonOf(usage(901, null), NOW)).toMatch('full');
  expect(backPressureReasonOf(usage(1, 7 * DAY_MS), NOW)).toBeNull();
  expect(backPressureReasonOf(usage(1, 7 * DAY_MS + 1), NOW)).toMatch('not settled');
});

test('a store without a reading does not stop admission', () => {
  expect(backPressureReasonOf({ redis: null, usage: null }, NOW)).toBeNull();
});
