import { expect, test } from '@jest/globals';
import { SupersededRun } from './superseded-run.js';

const [RUN, OTHER] = ['a'.repeat(40), 'b'.repeat(40)];

/** Asks each 100 ms, until it may be used or the time is over. @returns when it may; null: never */
function firstUse(
  superseded: SupersededRun,
  { from = 0, until = 10_000, ask = (_now: number): boolean => true } = {},
): number | null {
  for (let now = from; now < until; now += 100) {
    if (superseded.mayBeUsed(RUN, now, () => ask(now))) return now;
  }
  return null;
}

test('a superseded run may be used after two seconds in which nobody said that another one is', () => {
  expect(firstUse(new SupersededRun())).toBe(2_000);
});

test('the others are asked four times a second at most', () => {
  const asked: number[] = [];
  firstUse(new SupersededRun(), { ask: (now) => asked.push(now) > 0 });
  expect(asked).toEqual([0, 300, 600, 900, 1_200, 1_500, 1_800]);
});

test.each([
  ['another run is used', (superseded: SupersededRun) => superseded.isUsed(OTHER), 3_500],
  [
    'the connection leads elsewhere',
    (superseded: SupersededRun) => superseded.mayBeUsed(OTHER, 1_500, () => true),
    3_500,
  ],
  ['this run is used', (superseded: SupersededRun) => superseded.isUsed(RUN), 2_000],
])('%s: the time begins anew or not', (_name, happens, usedAt) => {
  const superseded = new SupersededRun();
  firstUse(superseded, { until: 1_500 });
  happens(superseded);
  expect(firstUse(superseded, { from: 1_500 })).toBe(usedAt);
});

test('without the bus it is never used, and the time counts from when it is back', () => {
  expect(firstUse(new SupersededRun(), { ask: () => false })).toBeNull();
  expect(firstUse(new SupersededRun(), { ask: (now) => now < 1_000 || now >= 5_000 })).toBe(7_000);
});

test('a pause in which nobody was asked does not count', () => {
  const superseded = new SupersededRun();
  firstUse(superseded, { until: 1_900 });
  expect(firstUse(superseded, { from: 60_000, until: 70_000 })).toBe(62_000);
});
