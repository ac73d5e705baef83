import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { TICK_MICROS, parseProcessStat } from './process-stat.js';

const rest = '20 0 11 0 5000 1000000 9000 18446744073709551615';

test('reads own time and the time of ended children separately', () => {
  expect(parseProcessStat(`42 (node) S 7 42 42 0 -1 4194304 500 0 0 0 120 30 4 5 ${rest}\n`)).toEqual({
    pid: 42,
    parent: 7,
    ownTicks: 150,
    endedChildrenTicks: 9,
  });
});

test('reads a process name with brackets, spaces and numbers', () => {
  const stat = parseProcessStat(`43 (a) S 1 (b 9) R 8 42 42 0 -1 4194304 500 0 0 0 1 2 3 4 ${rest}`);
  expect(stat).toMatchObject({ pid: 43, parent: 8, ownTicks: 3, endedChildrenTicks: 7 });
});

test('throws for another text', () => {
  expect(() => parseProcessStat('')).toThrow(RangeError);
  expect(() => parseProcessStat('44 (short) S 1 2 3')).toThrow(RangeError);
});

test('the CPU time of this process agrees with process.cpuUsage()', () => {
  const until = performance.now() + 100;
  while (performance.now() < until) void 0;
  const { user, system } = process.cpuUsage();
  const stat = parseProcessStat(readFileSync('/proc/self/stat', 'utf8'));
  expect(stat.pid).toBe(process.pid);
  expect(Math.abs(stat.ownTicks * TICK_MICROS - (user + system))).toBeLessThan(10 * TICK_MICROS);
});
