import { expect, test } from '@jest/globals';
import { pidsOf, readCpu, sumCpu } from './read-cpu.js';
import { TICK_MICROS } from './process-stat.js';

const stat = (pid: number, parent: number, ownTicks: number, endedChildrenTicks = 0) => ({
  pid,
  parent,
  ownTicks,
  endedChildrenTicks,
});

test('sums the roots of a group, their descendants and ended children', () => {
  const stats = [stat(1, 0, 1_000), stat(10, 1, 5, 2), stat(11, 10, 7), stat(12, 11, 11), stat(20, 1, 13)];
  expect(sumCpu({ database: [10], edge: [20] }, stats)).toEqual({ database: 25 * TICK_MICROS, edge: 13 * TICK_MICROS });
});

test('leaves out processes that serve the measurement', () => {
  const stats = [stat(10, 1, 5), stat(11, 10, 7), stat(12, 10, 9)];
  expect(sumCpu({ database: [10] }, stats, [12])).toEqual({ database: 12 * TICK_MICROS });
});

test('keeps the time of a child that ends between two readings', () => {
  const before = sumCpu({ database: [10] }, [stat(10, 1, 5), stat(11, 10, 7)]);
  const after = sumCpu({ database: [10] }, [stat(10, 1, 5, 8)]);
  expect((after['database'] ?? 0) - (before['database'] ?? 0)).toBe(TICK_MICROS);
});

test('throws if a root has ended', () => {
  expect(() => sumCpu({ edge: [99] }, [stat(1, 0, 1)])).toThrow('process 99 of edge has ended');
});

test('reads this process from /proc', () => {
  expect(pidsOf([process.pid])).toContain(process.pid);
  expect(readCpu({ self: [process.pid] })['self']).toBeGreaterThan(0);
});
