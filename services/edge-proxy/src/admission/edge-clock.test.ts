import { expect, test } from '@jest/globals';
import { EdgeClock } from './edge-clock.js';

// Covers r1
test('the clock follows the Redis time of the last quick answer', () => {
  let own = 1_000;
  const clock = new EdgeClock({ nowMs: () => own });
  expect(clock.nowMs()).toBe(1_000);
  clock.correct(50_000, 3_000);
  expect(clock.nowMs()).toBe(50_000);
  clock.correct(90_000, 3_000);
  expect(clock.nowMs()).toBe(50_000);
  clock.correct(60_000, 5);
  own += 100;
  expect(clock.nowMs()).toBe(60_100);
});
