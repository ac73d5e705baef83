import { expect, test } from '@jest/globals';
import { readWaits, voluntaryWaits, wakeUpsOf } from './wake-ups.js';

test('voluntaryWaits() reads only the voluntary switches of a thread', () => {
  expect(voluntaryWaits('Threads:\t3\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n')).toBe(150);
  expect(() => voluntaryWaits('Threads:\t3\n')).toThrow(RangeError);
});

test('wakeUpsOf() counts new threads from zero and ignores ended threads', () => {
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

test('readWaits() reads the waits of this process', () => {
  const waits = readWaits({ self: [process.pid] }, []);
  expect([...(waits['self']?.values() ?? [])].reduce((sum, one) => sum + one, 0)).toBeGreaterThan(0);
  expect(readWaits({ self: [process.pid] }, [process.pid])['self']?.size).toBe(0);
});
