import { expect, test } from '@jest/globals';
import { ManualClock } from '@gateway/testkit/clocks';
import { RedisClock } from './redis-clock.js';

const HOUR_MS = 3_600_000;

test('the clock advances from the last reply', async () => {
  const own = new ManualClock();
  const clock = new RedisClock(0, own);
  clock.observe(own.nowMs() + HOUR_MS, 0);
  await own.advance(5);
  expect(clock.now() - own.nowMs()).toBe(HOUR_MS);
  clock.forget();
  expect(clock.now() - own.nowMs()).toBe(0);
});

test('a reply to an earlier request does not move the test clock back', () => {
  const own = new ManualClock();
  const clock = new RedisClock(0, own);
  clock.shift(HOUR_MS);
  clock.observe(own.nowMs(), 0);
  expect(clock.now() - own.nowMs()).toBe(HOUR_MS);
  clock.observe(own.nowMs() + HOUR_MS, HOUR_MS);
  expect(clock.now() - own.nowMs()).toBe(HOUR_MS);
});
