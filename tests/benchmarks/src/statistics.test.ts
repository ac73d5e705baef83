import { expect, test } from '@jest/globals';
import { inTurn, median, percentile, subtract } from './statistics.js';

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

test('percentile() returns the nearest rank', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1);
  expect([1, 50, 99, 100].map((percent) => percentile(hundred, percent))).toEqual([1, 50, 99, 100]);
  expect(percentile([7], 99)).toBe(7);
  expect(percentile([1, 2, 3, 4], 50)).toBe(2);
  expect(percentile([1, 2, 3, 4], 51)).toBe(3);
});

test('subtract() counts a name without an earlier value from zero', () => {
  expect(subtract({ nats: 5, redis: 3 }, { nats: 2, edge: 9 })).toEqual({ nats: 3, redis: 3 });
});

test('inTurn() puts every peer first and after each of the others', () => {
  const peers = ['a', 'b', 'c'];
  const orders = Array.from({ length: 6 }, (_unused, turn) => inTurn(peers, turn));
  expect(orders.map((order) => [...order].sort())).toEqual(orders.map(() => peers));
  expect(new Set(orders.map(([first]) => first))).toEqual(new Set(peers));
  const after = new Set(orders.flatMap((order) => order.slice(1).map((peer, at) => `${order[at]}${peer}`)));
  expect([...after].sort()).toEqual(['ab', 'ac', 'ba', 'bc', 'ca', 'cb']);
});
