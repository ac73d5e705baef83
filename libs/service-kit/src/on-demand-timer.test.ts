import { expect, test } from '@jest/globals';
import { ManualClock } from '@gateway/testkit/clocks';
import { OnDemandTimer } from './on-demand-timer.js';

test('OnDemandTimer ticks while something waits and starts again on demand', async () => {
  const clock = new ManualClock();
  let waiting = 0;
  let sweeps = 0;
  const sweep = new OnDemandTimer(
    25,
    () => waiting > 0,
    () => (sweeps += 1),
    clock,
  );
  expect(clock.pending).toBe(0);
  waiting = 1;
  sweep.begin();
  sweep.begin();
  expect(clock.pending).toBe(1);
  await clock.advance(60);
  expect(sweeps).toBe(2);
  waiting = 0;
  await clock.advance(25);
  expect([sweeps, clock.pending]).toEqual([2, 0]);
  waiting = 1;
  sweep.begin();
  await clock.advance(26);
  expect(sweeps).toBe(3);
  sweep.stop();
  expect(clock.pending).toBe(0);
});
