import { expect, test } from '@jest/globals';
import { groupBy } from './group-by.js';

test('groups and their items keep the order in which they come', () => {
  const groups = groupBy([3, 1, 4, 1, 5, 9, 2, 6], (item) => item % 2);
  expect([...groups]).toEqual([
    [1, [3, 1, 1, 5, 9]],
    [0, [4, 2, 6]],
  ]);
});

test('of nothing there is no group', () => {
  expect(groupBy([], String).size).toBe(0);
});
