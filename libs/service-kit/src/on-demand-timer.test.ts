import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { OnDemandTimer } from './on-demand-timer.js';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

test('OnDemandTimer ticks while something waits and starts again on demand', () => {
  let waiting = 0;
  let sweeps = 0;
  const sweep = new OnDemandTimer(
    25,
    () => waiting > 0,
    () => (sweeps += 1),
  );
  expect(jest.getTimerCount()).toBe(0);
  waiting = 1;
  sweep.begin();
  sweep.begin();
  expect(jest.getTimerCount()).toBe(1);
  jest.advanceTimersByTime(60);
  expect(sweeps).toBe(2);
  waiting = 0;
  jest.advanceTimersByTime(25);
  expect([sweeps, jest.getTimerCount()]).toEqual([2, 0]);
  waiting = 1;
  sweep.begin();
  jest.advanceTimersByTime(26);
  expect(sweeps).toBe(3);
  sweep.stop();
  expect(jest.getTimerCount()).toBe(0);
});
