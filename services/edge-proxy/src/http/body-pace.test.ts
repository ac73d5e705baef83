import { expect, test } from '@jest/globals';
import { BodyPace, RATE_AFTER_MS } from './read-body.js';

const LIMITS = { bodyIdleMsMax: 60_000, bodyBytesPerSecondMin: 1_024 };

/**
 * When the looks at a body that has read so many bytes after so many milliseconds end it; null:
 * they do not.
 */
function endedAtMs(bytesAt: (ms: number) => number, forMs: number): number | null {
  const [beganAtMs, headBytes] = [5_000, 300];
  const pace = new BodyPace({}, beganAtMs, headBytes);
  for (let ms = 0; ms <= forMs; ms += 2_500) {
    if (pace.isTooSlow(beganAtMs + ms, headBytes + bytesAt(ms), LIMITS)) return ms;
  }
  return null;
}

test('a body without a byte is ended when its rate counts', () => {
  const endedAt = endedAtMs(() => 0, 60_000);
  expect(endedAt).toBeGreaterThan(RATE_AFTER_MS);
  expect(endedAt).toBeLessThanOrEqual(RATE_AFTER_MS + 2_500);
});

test('a body that drips is ended, one at the least rate is not', () => {
  expect(endedAtMs((ms) => ms / 10, 60_000)).not.toBeNull();
  expect(endedAtMs((ms) => Math.ceil(ms * 1.024), 300_000)).toBeNull();
});

test('a body that was fast and stops is ended by its silence', () => {
  const megabyte = 1_000_000;
  expect(endedAtMs((ms) => (ms === 0 ? 0 : megabyte), 300_000)).toBe(62_500);
});
