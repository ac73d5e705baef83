import { expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { TICK_MICROS, parseProcessStat, pidsOf, readCpu, readMemory, readVariable, sumCpu } from './processes.js';

const rest = '20 0 11 0 5000 1000000 9000 18446744073709551615';

test('adds own time and the time of ended children', () => {
  expect(parseProcessStat(`42 (node) S 7 42 42 0 -1 4194304 500 0 0 0 120 30 4 5 ${rest}\n`)).toEqual({
    pid: 42,
    parent: 7,
    ticks: 159,
  });
});

test('reads a process name with brackets, spaces and numbers', () => {
  const stat = parseProcessStat(`43 (a) S 1 (b 9) R 8 42 42 0 -1 4194304 500 0 0 0 1 2 3 4 ${rest}`);
  expect(stat).toMatchObject({ pid: 43, parent: 8, ticks: 10 });
});

test('throws for another text', () => {
  expect(() => parseProcessStat('')).toThrow(RangeError);
  expect(() => parseProcessStat('44 (short) S 1 2 3')).toThrow(RangeError);
});

test('the CPU time of this process agrees with process.cpuUsage()', () => {
  const own = () => parseProcessStat(readFileSync('/proc/self/stat', 'utf8'));
  // Earlier suites may have ended children, whose time only the file contains.
  const [before, begun] = [own(), process.cpuUsage()];
  const until = performance.now() + 100;
  while (performance.now() < until) void 0;
  const { user, system } = process.cpuUsage(begun);
  expect(own().pid).toBe(process.pid);
  expect(Math.abs((own().ticks - before.ticks) * TICK_MICROS - (user + system))).toBeLessThan(10 * TICK_MICROS);
});

const stat = (pid: number, parent: number, ticks: number) => ({ pid, parent, ticks });

test('sums the roots of a group, their descendants and ended children', () => {
  const stats = [stat(1, 0, 1_000), stat(10, 1, 7), stat(11, 10, 7), stat(12, 11, 11), stat(20, 1, 13)];
  expect(sumCpu({ database: [10], edge: [20] }, stats)).toEqual({ database: 25 * TICK_MICROS, edge: 13 * TICK_MICROS });
});

test('leaves out processes that serve the measurement', () => {
  const stats = [stat(10, 1, 5), stat(11, 10, 7), stat(12, 10, 9)];
  expect(sumCpu({ database: [10] }, stats, [12])).toEqual({ database: 12 * TICK_MICROS });
});

test('keeps the time of a child that ends between two readings', () => {
  const before = sumCpu({ database: [10] }, [stat(10, 1, 5), stat(11, 10, 7)]);
  const after = sumCpu({ database: [10] }, [stat(10, 1, 13)]);
  expect((after['database'] ?? 0) - (before['database'] ?? 0)).toBe(TICK_MICROS);
});

test('throws if a root has ended', () => {
  expect(() => sumCpu({ edge: [99] }, [stat(1, 0, 1)])).toThrow('process 99 has ended');
});

test('reads this process from /proc', () => {
  expect(pidsOf([process.pid])).toContain(process.pid);
  expect(readCpu({ self: [process.pid] })['self']).toBeGreaterThan(0);
});

test('readMemory() reads the memory of this process', () => {
  expect(readMemory({ own: [process.pid] })['own']).toBeGreaterThan(10_000_000);
});

test('readVariable() reads a variable of a running process, or returns undefined', async () => {
  const env = { GATEWAY_ADMIN_PORT: '1234', GATEWAY_ADMIN_PORT_OTHER: '5' };
  const child = spawn(process.execPath, ['-e', 'process.send(1); setInterval(() => 0, 1000)'], {
    env,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  try {
    await once(child, 'message');
    const groups = { billing: [child.pid ?? 0] };
    expect(readVariable(groups, 'billing', 'GATEWAY_ADMIN_PORT')).toBe('1234');
    expect(readVariable(groups, 'billing', 'GATEWAY_ADMIN')).toBeUndefined();
    expect(readVariable(groups, 'redis', 'GATEWAY_ADMIN_PORT')).toBeUndefined();
  } finally {
    child.kill('SIGKILL');
  }
});
