import { expect, test } from '@jest/globals';
import { EphemeralMap } from './ephemeral-map.js';

test('EphemeralMap keeps entries in their order until they are deleted', () => {
  const map = new EphemeralMap<string, { n: number }>();
  for (const n of [1, 2, 3]) map.set(`k${n}`, { n });
  map.set('k2', { n: 22 });
  expect([map.size, map.get('k2'), map.get('none')]).toEqual([3, { n: 22 }, undefined]);
  expect([map.delete('k1'), map.delete('k1')]).toEqual([true, false]);
  expect([...map.values()]).toEqual([{ n: 22 }, { n: 3 }]);
  expect(map.size).toBe(2);
});

test('entries may be added and deleted during an iteration', () => {
  const map = new EphemeralMap<number, { n: number }>();
  for (const n of [1, 2, 3]) map.set(n, { n });
  const seen: number[] = [];
  for (const { n } of map.values()) {
    seen.push(n);
    if (n === 1) {
      map.delete(2);
      map.set(4, { n: 4 });
    }
  }
  expect(seen).toEqual([1, 3, 4]);
});
