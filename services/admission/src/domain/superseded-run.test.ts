import { expect, test } from '@jest/globals';
import { SupersededRun } from './superseded-run.js';

const [RUN, OTHER] = ['a'.repeat(40), 'b'.repeat(40)];

/** The others are asked at these times. @returns the first after which the run may be used */
function firstUse(superseded: SupersededRun, times: readonly number[]): number | null {
  for (const now of times) {
    superseded.asked(RUN, now);
    if (superseded.mayBeUsed(now)) return now;
  }
  return null;
}

/** Of a connection that is made again and again. */
const each = (stepMs: number, from = 0): number[] =>
  Array.from({ length: 50 }, (_unused, index) => from + index * stepMs);

test.each([
  ['often', each(100), 2_000],
  ['rarely, as with a Sentinel that hangs', each(1_100), 2_200],
  ['at the longest pause that counts', each(5_000), 5_000],
  ['with longer pauses', each(5_001), null],
])(
  'a superseded run may be used when nobody said for two seconds that another one is, asked %s',
  (_n, times, usedAt) => {
    expect(firstUse(new SupersededRun(), times)).toBe(usedAt);
  },
);

test('nobody was asked: it may not be used', () => {
  expect(new SupersededRun().mayBeUsed(1e9)).toBe(false);
});

test.each([
  ['another run is used', (superseded: SupersededRun) => superseded.otherIsUsed()],
  ['the connection has led elsewhere', (superseded: SupersededRun) => superseded.asked(OTHER, 1_500)],
  ['it was used, and another one was heard of', (superseded: SupersededRun) => superseded.otherIsUsed()],
])('%s: the time begins anew', (_name, happens) => {
  const superseded = new SupersededRun();
  firstUse(superseded, each(100).slice(0, 15));
  happens(superseded);
  expect(superseded.mayBeUsed(3_000)).toBe(false);
  expect(firstUse(superseded, each(100, 1_500))).toBe(3_500);
});

test('what was not asked for any more may not be used', () => {
  const superseded = new SupersededRun();
  firstUse(superseded, [0, 1_000]);
  expect(superseded.mayBeUsed(60_000)).toBe(false);
  expect(firstUse(superseded, each(100, 60_000))).toBe(62_000);
});
