import { expect, test } from '@jest/globals';
import { BoundedMap } from './bounded-map.js';

test('the entry without use for the longest time is evicted first', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1);
  map.set('b', 2);
  expect(map.get('a')).toBe(1);
  map.set('c', 3);
  expect(map.get('b')).toBeUndefined();
  expect([map.get('a'), map.get('c'), map.size]).toEqual([1, 3, 2]);
});

test('a changed value replaces the old one', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1);
  map.set('a', 2);
  map.delete('b');
  expect([map.get('a'), map.size]).toEqual([2, 1]);
});
