import { expect, test } from '@jest/globals';
import { BodyPace, RATE_AFTER_MS } from './read-body.js';

const LIMITS = { bodyIdleMsMax: 60_000, bodyBytesPerSecondMin: 1_024 };

/**
 * Returns the time of the check that ends a body, or null if none does. `bytesAt` returns the bytes
 * read after a number of milliseconds.
 */
function endedAtMs(bytesAt: (ms: number) => number, forMs: number): number | null {
  const [beganAtMs, headBytes] = [5_000, 300];
  const pace = new BodyPace({}, beganAtMs, headBytes);
  for (let ms = 0; ms <= forMs; ms += 2_500) {
    if (pace.isTooSlow(beganAtMs + ms, headBytes + bytesAt(ms), LIMITS)) return ms;
  }
  return null;
}

test('a body without any byte is ended as soon as its rate is checked', () => {
  const endedAt = endedAtMs(() => 0, 60_000);
  expect(endedAt).toBeGreaterThan(RATE_AFTER_MS);
  expect(endedAt).toBeLessThanOrEqual(RATE_AFTER_MS + 2_500);
});

test('a body below the minimum rate is ended, and one at that rate is not', () => {
  expect(endedAtMs((ms) => ms / 10, 60_000)).not.toBeNull();
  expect(endedAtMs((ms) => Math.ceil(ms * 1.024), 300_000)).toBeNull();
});

test('a body that stops after a fast start is ended by the idle limit', () => {
  const megabyte = 1_000_000;
  expect(endedAtMs((ms) => (ms === 0 ? 0 : megabyte), 300_000)).toBe(62_500);
});
