import { expect, test } from '@jest/globals';
import { RECOVERED, judgeLoad, type LoadLimits, type LoadReason, type LoadState } from './watch-load.js';

const LIMITS: LoadLimits = {
  delayMsMax: 100,
  delayMsRecovered: 25,
  memoryShareMax: 0.8,
  memoryShareRecovered: 0.7,
  readingsToBegin: 3,
  readingsToEnd: 2,
};

/** Returns the reason for load shedding after each reading of delay and memory. */
function reported(
  readings: readonly (readonly [number, number])[],
  from: LoadState = RECOVERED,
): (LoadReason | null)[] {
  let state = from;
  return readings.map(([delayMs, memoryShare]) => {
    state = judgeLoad(state, { delayMs, memoryShare }, LIMITS);
    return state.shedding;
  });
}

const [QUIET, LATE, FULL, BETWEEN] = [
  [0, 0.1],
  [100, 0.1],
  [0, 0.8],
  [50, 0.75],
] as const;
const SHEDDING: LoadState = { shedding: 'delay', streak: 0 };

test('load shedding begins after several high readings in a row, of delay or memory', () => {
  expect(reported([LATE, LATE, LATE])).toEqual([null, null, 'delay']);
  expect(reported([FULL, FULL, FULL])).toEqual([null, null, 'memory']);
  expect(reported([LATE, FULL, LATE])).toEqual([null, null, 'delay']);
});

test('one reading below the limit restarts the count', () => {
  expect(reported([LATE, LATE, QUIET, LATE, LATE, BETWEEN, LATE, LATE, LATE]).slice(0, -1)).toEqual(
    Array(8).fill(null),
  );
});

test('load shedding ends after several readings in a row below the recovery limits', () => {
  expect(reported([QUIET, QUIET], SHEDDING)).toEqual(['delay', null]);
  expect(reported([BETWEEN, BETWEEN, BETWEEN, BETWEEN], SHEDDING)).toEqual(Array(4).fill('delay'));
  expect(reported([QUIET, BETWEEN, QUIET, QUIET], SHEDDING)).toEqual(['delay', 'delay', 'delay', null]);
});

test('the reason is that of the latest reading above a limit', () => {
  expect(reported([FULL, BETWEEN, LATE, QUIET], SHEDDING)).toEqual(['memory', 'memory', 'delay', 'delay']);
});
