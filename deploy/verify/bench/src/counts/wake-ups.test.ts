import { expect, test } from '@jest/globals';
import { readWaits, voluntaryWaits, wakeUpsOf } from './wake-ups.js';

test('the voluntary switches of a thread are read, and not the others', () => {
  expect(voluntaryWaits('Threads:\t3\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n')).toBe(150);
  expect(() => voluntaryWaits('Threads:\t3\n')).toThrow(RangeError);
});

test('new threads count from zero, and ended ones take nothing away', () => {
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
  expect(wakeUpsOf(after, before)).toEqual({ edge: 35, nats: 4 });
});

test('this process has waited', () => {
  const waits = readWaits({ self: [process.pid] }, []);
  expect([...(waits['self']?.values() ?? [])].reduce((sum, one) => sum + one, 0)).toBeGreaterThan(0);
  expect(readWaits({ self: [process.pid] }, [process.pid])['self']?.size).toBe(0);
});
