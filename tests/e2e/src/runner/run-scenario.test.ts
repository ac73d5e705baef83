import { expect, test } from '@jest/globals';
import { planRounds, reportFaults } from '../faults/faults.js';
import { countTable, renderReport } from './render-report.js';
import { parseOptions } from './run-scenario.js';

const REQUESTED = { calls: 1_000_000, faults: 105, slice: 100_000, seed: 7 };

test('rounds have different seeds and add up to the parameters', () => {
  const shares = planRounds(REQUESTED).map(({ calls = 0, faults = 0, seed = 0 }) => [calls, faults, seed]);
  const sum = (at: number): number => shares.reduce((all, share) => all + (share[at] ?? 0), 0);
  expect(shares.map(([, , seed]) => seed)).toEqual([7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
  expect([sum(0), sum(1)]).toEqual([REQUESTED.calls, REQUESTED.faults]);
  expect(Math.max(...shares.map(([calls = 0]) => calls))).toBe(REQUESTED.slice);
  expect(new Set(shares.map(([, faults]) => faults))).toEqual(new Set([10, 11]));
  expect(planRounds({ calls: 250, faults: 3, slice: 100, seed: 7 })).toEqual([
    { calls: 83, faults: 1, seed: 7 },
    { calls: 83, faults: 1, seed: 8 },
    { calls: 84, faults: 1, seed: 9 },
  ]);
});

test('a report adds the rounds and lists each violation', () => {
  const figures = (...times: number[]) => ({ figures: { 'kill nats': times } });
  const tables = [...reportFaults([figures(30), figures(50, 10)]), countTable('Requests', [{ made: 2 }, { made: 2 }])];
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
