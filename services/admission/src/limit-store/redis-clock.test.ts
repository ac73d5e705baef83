import { expect, test } from '@jest/globals';
import { RedisClock } from './redis-clock.js';

const HOUR_MS = 3_600_000;
/** Upper bound of the time between two readings of this machine's clock in one test. */
const MOMENT_MS = 1_000;

const expectAhead = (clock: RedisClock, aheadMs: number): void => {
  const from = Date.now() + aheadMs;
  expect(clock.now()).toBeGreaterThanOrEqual(from - MOMENT_MS);
  expect(clock.now()).toBeLessThan(from + MOMENT_MS);
};

test('the clock advances from the last reply', () => {
  const clock = new RedisClock();
  clock.observe(Date.now() + HOUR_MS, 0);
  expectAhead(clock, HOUR_MS);
  clock.forget();
  expectAhead(clock, 0);
});

test('a reply to an earlier request does not move the test clock back', () => {
  const clock = new RedisClock();
  clock.shift(HOUR_MS);
  clock.observe(Date.now(), 0);
  expectAhead(clock, HOUR_MS);
  clock.observe(Date.now() + HOUR_MS, HOUR_MS);
  expectAhead(clock, HOUR_MS);
});
