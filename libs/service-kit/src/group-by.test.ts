import { expect, test } from '@jest/globals';
import { groupBy } from './group-by.js';

test('groupBy() keeps the order of groups and items', () => {
  const groups = groupBy([3, 1, 4, 1, 5, 9, 2, 6], (item) => item % 2);
  expect([...groups]).toEqual([
    [1, [3, 1, 1, 5, 9]],
    [0, [4, 2, 6]],
  ]);
});

test('groupBy() of no items returns no groups', () => {
  expect(groupBy([], String).size).toBe(0);
});
