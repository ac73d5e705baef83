import { expect, test } from '@jest/globals';
import { proportionalBytes, readMemory } from './read-memory.js';

test('the proportional size is read, and not another line', () => {
  const rollup =
    '55-7f ---p 00000000 00:00 0 [rollup]\nRss:  900 kB\nPss:  300 kB\nPss_Dirty:  10 kB\nShared_Clean: 5 kB\n';
  expect(proportionalBytes(rollup)).toBe(300 * 1_024);
  expect(proportionalBytes('')).toBe(0);
  expect(() => proportionalBytes('Rss: 1 kB\n')).toThrow(RangeError);
});

test('this process has memory', () => {
  expect(readMemory({ own: [process.pid] })['own']).toBeGreaterThan(10_000_000);
});
