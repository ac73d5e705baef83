import { expect, test } from '@jest/globals';
import { judgeSoak } from './soak.js';

const MEGABYTE = 1024 * 1024;
const rest = { replica: 'edge-proxy-1', heapBytes: 40 * MEGABYTE, sockets: 20, timers: 5 };
const after = (change: object) => [[rest], [rest], [rest], [{ ...rest, ...change }]];

test('judgeSoak accepts constant resources and growth before the second pause', () => {
  expect(judgeSoak(after({}))).toEqual([]);
  expect(judgeSoak([[{ ...rest, heapBytes: 1, sockets: 1, timers: 0 }], [rest], [rest]])).toEqual([]);
});

test.each([
  [{ heapBytes: 47 * MEGABYTE }, /bytes of heap/],
  [{ sockets: 31 }, /11 sockets/],
  [{ timers: 11 }, /6 timers/],
  [{ replica: 'another' }, /not running/],
])('judgeSoak reports %j at the end', (change, sentence) => {
  expect(judgeSoak(after(change)).join()).toMatch(sentence);
});

test('judgeSoak reports steady growth and accepts the same growth in steps', () => {
  const heaps = (...megabytes: number[]) => [40, ...megabytes].map((each) => [{ ...rest, heapBytes: each * MEGABYTE }]);
  expect(judgeSoak(heaps(40, 40.5, 41, 41.5)).join()).toMatch(/more in each pause/);
  expect(judgeSoak(heaps(40, 42, 40.5, 41.5))).toEqual([]);
  expect(judgeSoak(heaps(40, 40.1, 40.2, 40.3))).toEqual([]);
});
