import { expect, test } from '@jest/globals';
import { nextSlice, reportFaults, type FaultsOptions } from '../faults/faults.js';
import { renderReport } from './render-report.js';
import { dueOptions, parseOptions } from './run-scenario.js';

const ASKED = { calls: 1_000_000, faults: 105, slice: 100_000, seed: 7 };

/** Plays every round that is due. */
function playAll(requested: FaultsOptions) {
  const rounds: { options: FaultsOptions }[] = [];
  for (let due = dueOptions(nextSlice, requested, rounds); due !== null; due = dueOptions(nextSlice, requested, rounds))
    rounds.push({ options: due });
  return rounds;
}
const sharesOf = (rounds: { options: FaultsOptions }[]) =>
  rounds.map(({ options: { calls, faults, seed } }) => [calls, faults, seed]);

test('rounds have different seeds and add up to the parameters', () => {
  const shares = sharesOf(playAll(ASKED));
  const sum = (at: number): number => shares.reduce((all, share) => all + (share[at] ?? 0), 0);
  expect(shares.map(([, , seed]) => seed)).toEqual([7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
  expect([sum(0), sum(1)]).toEqual([ASKED.calls, ASKED.faults]);
  expect(Math.max(...shares.map(([calls = 0]) => calls))).toBe(ASKED.slice);
  expect(new Set(shares.map(([, faults]) => faults))).toEqual(new Set([10, 11]));
  expect(sharesOf(playAll({ calls: 250, faults: 3, slice: 100, seed: 7 }))).toEqual([
    [83, 1, 7],
    [83, 1, 8],
    [84, 1, 9],
  ]);
});

test('reportFaults adds the rounds, and the report lists each violation', () => {
  const figures = (...times: number[]) => ({ figures: { faults: { 'kill nats': times }, calls: { made: 2 } } });
  const tables = reportFaults([figures(30), figures(50, 10)]);
  const page = renderReport({ title: 'T', command: 'c', about: 'a', tables, violations: ['seed 8: wrong'] });
  expect(page).toMatch(/\| kill nats +\| +3 \| +30 \| +50 \|/);
  expect(page).toMatch(/\| made +\| +4 \|/);
  expect(page).toMatch(/Violations: 1\.\n\n- seed 8: wrong\n$/);
  expect(renderReport({ title: 'T', command: 'c', about: 'a', tables, violations: [] })).toContain('Violations: none.');
});

test('parseOptions returns defaults, and rejects unknown and invalid options', () => {
  const specs = {
    calls: { or: 5, min: 1, max: 9 },
    kinds: (text: string) => {
      if (text !== 'a') throw new RangeError('unknown kind');
    },
  };
  expect(parseOptions(specs, [])).toEqual({ calls: 5, kinds: undefined });
  expect(parseOptions(specs, ['--calls', '9', '--kinds', 'a'])).toEqual({ calls: 9, kinds: 'a' });
  const wrong = [['--calls', '10'], ['--calls', 'x'], ['--kinds', 'b'], ['--no'], ['calls']];
  for (const args of wrong) expect(() => parseOptions(specs, args)).toThrow();
});
