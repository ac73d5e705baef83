import { expect, test } from '@jest/globals';
import { computeTokenLife } from '../credentials/expiring-credential.js';

const MINUTE_MS = 60_000;

test.each([
  { life: 60 * MINUTE_MS, refresh: 55 * MINUTE_MS, end: 60 * MINUTE_MS - 10_000 },
  { life: 10 * MINUTE_MS, refresh: 8 * MINUTE_MS, end: 10 * MINUTE_MS - 10_000 },
  { life: 1_000, refresh: 800, end: 900 },
])('a token of $life ms is replaced after $refresh ms and sent for $end ms', ({ life, refresh, end }) => {
  expect(computeTokenLife(7, 7 + life)).toEqual({ refreshAtMs: 7 + refresh, endsAtMs: 7 + end });
});

test('a token without an end is never replaced', () => {
  expect(computeTokenLife(7, null)).toEqual({ refreshAtMs: Infinity, endsAtMs: Infinity });
});
