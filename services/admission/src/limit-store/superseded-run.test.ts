import { expect, test } from '@jest/globals';
import { SupersededRun } from './run-agreement-rules.js';

const [RUN, OTHER] = ['a'.repeat(40), 'b'.repeat(40)];

/** Queries at these times. @returns the first time at which the run may be used */
function firstUse(superseded: SupersededRun, times: readonly number[]): number | null {
  return times.find((now) => superseded.mayBeUsed(RUN, now, true)) ?? null;
}

/** Times of a connection that is made repeatedly. */
const each = (stepMs: number, from = 0): number[] =>
  Array.from({ length: 50 }, (_unused, index) => from + index * stepMs);

test.each([
  ['often', each(100), 2_000],
  ['rarely, as with a Sentinel that hangs', each(1_100), 2_200],
  ['at the longest pause that counts', each(5_000), 5_000],
  ['with longer pauses', each(5_001), null],
])('a superseded run is used after two seconds without a report, queried %s', (_n, times, usedAt) => {
  expect(firstUse(new SupersededRun(), times)).toBe(usedAt);
});

test.each([
  ['another run is used', (superseded: SupersededRun) => superseded.otherIsUsed()],
  ['the connection has led elsewhere', (superseded: SupersededRun) => superseded.mayBeUsed(OTHER, 1_500, true)],
  ['the bus was not heard', (superseded: SupersededRun) => superseded.mayBeUsed(RUN, 1_500, false)],
])('the time starts again when %s', (_name, happens) => {
  const superseded = new SupersededRun();
  firstUse(superseded, each(100).slice(0, 15));
  happens(superseded);
  expect(firstUse(superseded, each(100, 1_500))).toBe(3_500);
});

test('a superseded run is never used while the bus is away', () => {
  const superseded = new SupersededRun();
  firstUse(superseded, each(100).slice(0, 20));
  expect(each(100, 2_000).some((now) => superseded.mayBeUsed(RUN, now, false))).toBe(false);
});
