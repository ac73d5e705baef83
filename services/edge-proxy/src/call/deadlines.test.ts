import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { DEADLINE_STEP_MS, Deadlines } from './deadlines.js';

let nowMs: number;
let deadlines: Deadlines;
let faults: unknown[];
beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['performance'] });
  nowMs = 0;
  faults = [];
  deadlines = new Deadlines(
    () => nowMs,
    (err) => faults.push(err),
  );
});
afterEach(() => {
  deadlines.stop();
  jest.useRealTimers();
});

function advance(ms: number): void {
  for (let passed = 0; passed < ms; passed += DEADLINE_STEP_MS) {
    nowMs += DEADLINE_STEP_MS;
    jest.advanceTimersByTime(DEADLINE_STEP_MS);
  }
}

test('a deadline expires once, a cancelled one never; a handler may add another', () => {
  const expired: string[] = [];
  deadlines.in(100, () => {
    expired.push('first');
    deadlines.in(50, () => expired.push('next'));
  });
  const cancelled = deadlines.in(100, () => expired.push('cancelled'));
  deadlines.at(1_000, () => expired.push('late'));
  advance(75);
  expect(expired).toEqual([]);
  cancelled.cancel();
  advance(50);
  expect(expired).toEqual(['first']);
  advance(100);
  expect(expired).toEqual(['first', 'next']);
  advance(1_000);
  expect(expired).toEqual(['first', 'next', 'late']);
});

test('an exception of a handler goes to its owner and delays no other deadline', () => {
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
  advance(300);
  expect([faults, told, expired]).toEqual([[fault], [fault], ['beside it', 'later']]);
});
