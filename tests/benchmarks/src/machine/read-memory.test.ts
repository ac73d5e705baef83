import { expect, test } from '@jest/globals';
import { parseProportionalBytes, readMemory } from './read-memory.js';

test('proportionalBytes() reads only the proportional set size', () => {
  const rollup =
    '55-7f ---p 00000000 00:00 0 [rollup]\nRss:  900 kB\nPss:  300 kB\nPss_Dirty:  10 kB\nShared_Clean: 5 kB\n';
  expect(parseProportionalBytes(rollup)).toBe(300 * 1_024);
  expect(parseProportionalBytes('')).toBe(0);
  expect(() => parseProportionalBytes('Rss: 1 kB\n')).toThrow(RangeError);
});

test('readMemory() reads the memory of this process', () => {
  expect(readMemory({ own: [process.pid] })['own']).toBeGreaterThan(10_000_000);
});
