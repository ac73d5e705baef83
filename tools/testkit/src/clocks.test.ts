import { expect, test } from '@jest/globals';
import { ManualClock, patientClock } from './clocks.js';

test('advance() makes due calls in order at their times, also those that they set', async () => {
  const clock = new ManualClock(1_000);
  const calls: [string, number][] = [];
  const note = (name: string) => () => void calls.push([name, clock.nowMs()]);
  clock.setTimer(30, note('late'));
  clock.setTimer(10, () => {
    note('first')();
    clock.setTimer(5, note('next'));
  });
  clock.setTimer(10, note('cancelled')).cancel();
  const ticker = clock.setTicker(12, note('tick'));
  await clock.advance(25);
  expect(calls).toEqual([
    ['first', 1_010],
    ['tick', 1_012],
    ['next', 1_015],
    ['tick', 1_024],
  ]);
  ticker.cancel();
  expect([clock.nowMs(), clock.pending]).toEqual([1_025, 1]);
});

test('the patient clock extends short timeouts only', () => {
  expect([100, 90_000].map((ms) => patientClock.timeoutMs(ms))).toEqual([60_000, 90_000]);
});
