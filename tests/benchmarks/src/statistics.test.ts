import { expect, test } from '@jest/globals';
import { compare, median, percentile, subtract } from './statistics.js';

test('median() returns the middle value or the mean of the middle two', () => {
  expect(median([5])).toBe(5);
  expect(median([9, 1, 4])).toBe(4);
  expect(median([10, 1, 4, 2])).toBe(3);
});

test('median() does not depend on or change the order of the values', () => {
  const values = [3, 1, 2];
  expect(median(values)).toBe(2);
  expect(values).toEqual([3, 1, 2]);
});

test('median() and percentile() throw without values', () => {
  expect(() => median([])).toThrow(RangeError);
  expect(() => percentile([], 50)).toThrow(RangeError);
});

test('percentile() returns the nearest rank', () => {
  const hundred = Float64Array.from({ length: 100 }, (_, index) => index + 1);
  expect([1, 50, 99, 100].map((percent) => percentile(hundred, percent))).toEqual([1, 50, 99, 100]);
  expect(percentile([7], 99)).toBe(7);
  expect(percentile([1, 2, 3, 4], 50)).toBe(2);
  expect(percentile([1, 2, 3, 4], 51)).toBe(3);
});

test('compare() marks too few or too different rounds as noisy', () => {
  const noisy = (...values: number[]) => compare(values.map((ours) => ({ ours, theirs: 100 })))?.isNoisy;
  expect([noisy(80, 80), noisy(80, 120, 80, 120, 100), noisy(80, 80, 80, 80, 400)]).toEqual([true, true, false]);
  expect(compare([{ ours: 1, theirs: NaN }])).toBeNull();
});

test('subtract() counts a name without an earlier value from zero', () => {
  expect(subtract({ nats: 5, redis: 3 }, { nats: 2, edge: 9 })).toEqual({ nats: 3, redis: 3 });
});
