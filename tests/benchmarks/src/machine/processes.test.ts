import { expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  TICK_MICROS,
  parseProcessStat,
  parseProportionalBytes,
  parseVoluntaryWaits,
  pidsOf,
  readCpu,
  readMemory,
  readVariable,
  readWaits,
  sumCpu,
  wakeUpsBetween,
} from './processes.js';

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

test('parseProportionalBytes() reads only the proportional set size', () => {
  const rollup =
    '55-7f ---p 00000000 00:00 0 [rollup]\nRss:  900 kB\nPss:  300 kB\nPss_Dirty:  10 kB\nShared_Clean: 5 kB\n';
  expect(parseProportionalBytes(rollup)).toBe(300 * 1_024);
  expect(parseProportionalBytes('')).toBe(0);
  expect(() => parseProportionalBytes('Rss: 1 kB\n')).toThrow(RangeError);
});

test('readMemory() reads the memory of this process', () => {
  expect(readMemory({ own: [process.pid] })['own']).toBeGreaterThan(10_000_000);
});

test('parseVoluntaryWaits() reads only the voluntary switches of a thread', () => {
  expect(parseVoluntaryWaits('Threads:\t3\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n')).toBe(
    150,
  );
  expect(() => parseVoluntaryWaits('Threads:\t3\n')).toThrow(RangeError);
});

test('wakeUpsBetween() counts new threads from zero and ignores ended threads', () => {
  const before = {
    edge: new Map([
      [1, 100],
      [2, 1_000],
    ]),
  };
  const after = {
    edge: new Map([
      [1, 130],
      [3, 5],
    ]),
    nats: new Map([[9, 4]]),
  };
  expect(wakeUpsBetween(before, after)).toEqual({ edge: 35, nats: 4 });
});

test('readWaits() reads the waits of this process', () => {
  const waits = readWaits({ self: [process.pid] }, []);
  expect([...(waits['self']?.values() ?? [])].reduce((sum, one) => sum + one, 0)).toBeGreaterThan(0);
  expect(readWaits({ self: [process.pid] }, [process.pid])['self']?.size).toBe(0);
});

test('readVariable() reads a variable of a running process, or returns null', async () => {
  const env = { GATEWAY_ADMIN_PORT: '1234', GATEWAY_ADMIN_PORT_OTHER: '5' };
  const child = spawn(process.execPath, ['-e', 'process.send(1); setInterval(() => 0, 1000)'], {
    env,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  try {
    await once(child, 'message');
    const groups = { billing: [child.pid ?? 0] };
    expect(readVariable(groups, 'billing', 'GATEWAY_ADMIN_PORT')).toBe('1234');
    expect(readVariable(groups, 'billing', 'GATEWAY_ADMIN')).toBeNull();
    expect(readVariable(groups, 'redis', 'GATEWAY_ADMIN_PORT')).toBeNull();
  } finally {
    child.kill('SIGKILL');
  }
});
