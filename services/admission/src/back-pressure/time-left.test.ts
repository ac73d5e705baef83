import { expect, test } from '@jest/globals';
import { TIME_LEFT_MAX_SECONDS, FillTimeEstimate } from './rules.js';

const MAX = 1_000_000;

/** Builds the estimate for a store with these sizes in bytes, one per ten seconds. */
function filledBy(...bytes: number[]): FillTimeEstimate {
  const left = new FillTimeEstimate();
  for (const [index, seen] of bytes.entries()) left.seen(index * 10_000, seen);
  return left;
}

test.each([
  ['no reading', filledBy(), TIME_LEFT_MAX_SECONDS],
  ['one reading, without a rate', filledBy(5), TIME_LEFT_MAX_SECONDS],
  ['a store that does not fill', filledBy(500, 500, 400), TIME_LEFT_MAX_SECONDS],
  ['1,000 bytes a second for the 980,000 that are left', filledBy(0, 10_000, 20_000), 980],
  ['a full store', filledBy(0, MAX, MAX), 0],
])('time left: %s', (_name, left, seconds) => {
  expect(left.seconds(MAX)).toBe(seconds);
});

test('the rate covers ten minutes with one reading per ten seconds', () => {
  const left = filledBy(...Array<number>(100).fill(0), ...Array.from({ length: 60 }, (_, index) => index * 100));
  left.seen(159 * 10_000 + 1, MAX);
  expect(left.seconds(MAX)).toBe((MAX - 5_900) / 10);
});

test('a store without a limit has the maximum time left', () => {
  expect(filledBy(0, 100).seconds(0)).toBe(TIME_LEFT_MAX_SECONDS);
});
