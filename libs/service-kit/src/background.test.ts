import { beforeEach, expect, test } from '@jest/globals';
import { ManualClock } from '@gateway/testkit/clocks';
import { runEvery } from './background.js';

let clock: ManualClock;
beforeEach(() => {
  clock = new ManualClock();
});

/** Work whose runs the test ends. */
function heldWork() {
  const runs: { end(pauseMs?: number): void; fail(error: Error): void }[] = [];
  const work = () =>
    new Promise<number | void>((resolve, reject) => {
      runs.push({ end: resolve, fail: reject });
    });
  return { runs, work };
}

test('every() starts a run after the pause and never two at once', async () => {
  const { runs, work } = heldWork();
  const background = runEvery(100, work, { clock });
  await clock.advance(99);
  expect(runs).toHaveLength(0);
  await clock.advance(1_000);
  expect(runs).toHaveLength(1);
  runs[0]?.end();
  await clock.advance(100);
  expect(runs).toHaveLength(2);
  runs[1]?.end();
  await background.stop();
});

test('work can set its pause, and wake() starts it now or once more after a run', async () => {
  const { runs, work } = heldWork();
  const background = runEvery(100, work, { atOnce: true, clock });
  expect(runs).toHaveLength(1);
  runs[0]?.end(Infinity);
  await clock.advance(10_000);
  expect([runs.length, clock.pending]).toEqual([1, 0]);
  background.wake();
  background.wake();
  background.wake();
  expect(runs).toHaveLength(2);
  runs[1]?.end(5);
  await clock.advance(0);
  expect(runs).toHaveLength(3);
  runs[2]?.end(5);
  await clock.advance(5);
  expect(runs).toHaveLength(4);
  runs[3]?.end();
  await background.stop();
});

test('every() reports only the first failure of a series', async () => {
  const failures: unknown[] = [];
  const { runs, work } = heldWork();
  const background = runEvery(100, work, { failed: (err) => failures.push(err), clock });
  const errors = ['a', 'b', '', 'c'].map((text) => new Error(text));
  for (const [index, error] of errors.entries()) {
    await clock.advance(100);
    if (error.message === '') runs[index]?.end();
    else runs[index]?.fail(error);
  }
  await background.stop();
  expect(failures).toEqual([errors[0], errors[3]]);
});

test('stop() waits for the current run only, and no further run starts', async () => {
  const { runs, work } = heldWork();
  const background = runEvery(100, work, { atOnce: true, clock });
  background.wake();
  let stopped = false;
  const stopping = background.stop().then(() => (stopped = true));
  await clock.advance(1_000);
  expect([runs.length, stopped]).toEqual([1, false]);
  runs[0]?.end();
  await stopping;
  background.wake();
  await clock.advance(1_000);
  expect([runs.length, clock.pending]).toEqual([1, 0]);
});
