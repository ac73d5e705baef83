import { expect, test } from '@jest/globals';
import { addSlice, beginOrGoOn, dueSlice, type FaultsFigures, type Slice } from './faults-figures.js';
import { renderFaults } from './render-faults.js';

const SEED = 7;
const ASKED = { calls: 1_000_000, faults: 105, slice: 100_000 };
const shown = (differences: number) => ({ ms: 2_000, differences, faults: { 'kill nats': [30] }, calls: { made: 2 } });

/** Adds the same result for every slice that is due. */
function playAll(begun: FaultsFigures): { figures: FaultsFigures; slices: Slice[] } {
  const slices: Slice[] = [];
  let figures = begun;
  for (let due = dueSlice(figures); due !== null; due = dueSlice(figures)) {
    slices.push(due);
    figures = addSlice(figures, due, shown(0));
  }
  return { figures, slices };
}

test('slices have different seeds and add up to the parameters', () => {
  const { slices } = playAll(beginOrGoOn(null, ASKED, SEED));
  const sum = (of: readonly number[]): number => of.reduce((one, other) => one + other, 0);
  expect(slices.map(({ seed }) => seed)).toEqual([7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
  expect(sum(slices.map(({ calls }) => calls))).toBe(ASKED.calls);
  expect(sum(slices.map(({ faults }) => faults))).toBe(ASKED.faults);
  expect(Math.max(...slices.map(({ calls }) => calls))).toBe(ASKED.slice);
  expect(new Set(slices.map(({ faults }) => faults))).toEqual(new Set([10, 11]));
  expect(playAll(beginOrGoOn(null, { calls: 250, faults: 3, slice: 100 }, SEED)).slices).toEqual([
    { calls: 83, faults: 1, seed: 7 },
    { calls: 83, faults: 1, seed: 8 },
    { calls: 84, faults: 1, seed: 9 },
  ]);
});

test('a run continues the previous one if it is incomplete and has the same parameters', () => {
  const begun = beginOrGoOn(null, ASKED, SEED);
  const half = addSlice(begun, { calls: 1, faults: 1, seed: SEED }, shown(0));
  expect(beginOrGoOn(half, { ...ASKED }, 99)).toBe(half);
  for (const other of [{ calls: 10_000 }, { faults: 1 }, { slice: 1_000 }]) {
    expect(beginOrGoOn(half, { ...ASKED, ...other }, 99)).toMatchObject({ seed: 99, slices: [] });
  }
  expect(beginOrGoOn(playAll(begun).figures, ASKED, 99)).toMatchObject({ seed: 99, slices: [], ms: 0 });
});

test('addSlice adds results, and the report names the seed of a slice with differences', () => {
  const begun = beginOrGoOn(null, ASKED, SEED);
  const one = addSlice(begun, { calls: 1, faults: 1, seed: SEED }, shown(0));
  const two = addSlice(
    one,
    { calls: 1, faults: 1, seed: SEED + 1 },
    { ...shown(3), faults: { 'kill nats': [50, 10] } },
  );
  expect(two).toMatchObject({ ms: 4_000, differences: 3, faults: { 'kill nats': [30, 50, 10] }, calls: { made: 4 } });
  const page = renderFaults(JSON.parse(JSON.stringify(two)) as FaultsFigures);
  expect(page).toMatch(/\| kill nats +\| +3 \| +30 \| +50 \|/);
  expect(page).toMatch(/\| made +\| +4 \|/);
  expect(page).toContain('2 of 10 slices');
  expect(page).toContain('Differences found by the checker: 3 (3 with seed 8)');
  expect(renderFaults(one)).toContain('Differences found by the checker: 0. ');
});
