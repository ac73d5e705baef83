import { expect, test } from '@jest/globals';
import { findBackPressureReason } from './rules.js';

const DAY_MS = 86_400_000;
const NOW = 100 * DAY_MS;

// Covers r14
test('admission stops above 85 percent of Redis, and never without a limit', () => {
  expect(findBackPressureReason({ redis: { usedBytes: 850, maxBytes: 1_000 }, usage: null }, NOW)).toBeNull();
  expect(findBackPressureReason({ redis: { usedBytes: 851, maxBytes: 1_000 }, usage: null }, NOW)).toMatch('redis');
  expect(findBackPressureReason({ redis: { usedBytes: 851, maxBytes: 0 }, usage: null }, NOW)).toBeNull();
});

// Covers r15
test('admission stops above 90 % of the stream and at events older than 7 days', () => {
  const usage = (bytes: number, ageMs: number | null) => ({
    redis: null,
    usage: { bytes, bytesMax: 1_000, firstAt: ageMs === null ? null : NOW - ageMs },
  });
  expect(findBackPressureReason(usage(900, null), NOW)).toBeNull();
  expect(findBackPressureReason(usage(901, null), NOW)).toMatch('full');
  expect(findBackPressureReason(usage(1, 7 * DAY_MS), NOW)).toBeNull();
  expect(findBackPressureReason(usage(1, 7 * DAY_MS + 1), NOW)).toMatch('not settled');
});

test('a store without a reading does not stop admission', () => {
  expect(findBackPressureReason({ redis: null, usage: null }, NOW)).toBeNull();
});
