import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ManualClock } from '@gateway/testkit/clocks';
import { Deadlines } from './deadlines.js';

let clock: ManualClock;
let deadlines: Deadlines;
let faults: unknown[];
beforeEach(() => {
  clock = new ManualClock();
  faults = [];
  deadlines = new Deadlines(clock, (err) => faults.push(err));
});
afterEach(() => deadlines.stop());

test('a deadline expires once, a cancelled one never; a handler may add another', async () => {
  const expired: string[] = [];
  deadlines.in(100, () => {
    expired.push('first');
    deadlines.in(50, () => expired.push('next'));
  });
  const cancelled = deadlines.in(100, () => expired.push('cancelled'));
  deadlines.at(clock.monotonicMs() + 1_000, () => expired.push('late'));
  await clock.advance(75);
  expect(expired).toEqual([]);
  cancelled.cancel();
  await clock.advance(50);
  expect(expired).toEqual(['first']);
  await clock.advance(100);
  expect(expired).toEqual(['first', 'next']);
  await clock.advance(1_000);
  expect(expired).toEqual(['first', 'next', 'late']);
});

test('an exception of a handler goes to its owner and delays no other deadline', async () => {
  const fault = new Error('a fault');
  const told: unknown[] = [];
  const failing = (): never => {
    throw fault;
  };
  const expired: string[] = [];
  deadlines.in(100, failing);
  deadlines.in(100, failing, (err) => told.push(err));
  deadlines.in(100, () => expired.push('beside it'));
  deadlines.in(200, () => expired.push('later'));
  await clock.advance(300);
  expect([faults, told, expired]).toEqual([[fault], [fault], ['beside it', 'later']]);
});
