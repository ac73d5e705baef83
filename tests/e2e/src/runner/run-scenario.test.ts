import { expect, test } from '@jest/globals';
import type { FaultDone } from '../evidence/evidence.js';
import { faultTable, planRounds } from '../faults/faults.js';
import { countTable, renderReport } from './render-report.js';
import { parseOptions, playRounds } from './run-scenario.js';

const REQUESTED = { calls: 1_000_000, faults: 105, seed: 7 };

test('rounds have different seeds and add up to the parameters', () => {
  const rounds = planRounds(REQUESTED);
  const sum = (of: 'calls' | 'faults'): number => rounds.reduce((all, round) => all + round[of], 0);
  expect(rounds.map(({ seed }) => seed)).toEqual([7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
  expect([sum('calls'), sum('faults')]).toEqual([REQUESTED.calls, REQUESTED.faults]);
  expect(Math.max(...rounds.map(({ calls }) => calls))).toBe(100_000);
  expect(new Set(rounds.map(({ faults }) => faults))).toEqual(new Set([10, 11]));
  expect(planRounds({ calls: 250_000, faults: 3, seed: 7 })).toEqual([
    { calls: 83_333, faults: 1, seed: 7 },
    { calls: 83_333, faults: 1, seed: 8 },
    { calls: 83_334, faults: 1, seed: 9 },
  ]);
});

test('playRounds() adds the counts and stops after a violation, which has its seed', async () => {
  const played: number[] = [];
  const rounds = [7, 8, 9].map((seed) => ({ seed }));
  const found = await playRounds(rounds, async ({ seed }) => {
    played.push(seed);
    const violations = seed === 8 ? ['wrong'] : [];
    return { violations, counterExample: seed === 8 ? 'a call' : null, counts: { made: seed }, figures: -seed };
  });
  expect(played).toEqual([7, 8]);
  expect(found).toEqual({
    violations: ['seed 8: wrong'],
    counterExample: 'a call',
    counts: { made: 15 },
    figures: [-7, -8],
  });
});

test('a report has median and most of each fault, the counts and each violation', () => {
  const done = [30, 50, 10].map((until, n) => ({ what: 'kill', target: `billing-${n}`, from: 0, until }) as FaultDone);
  const tables = [faultTable(done), countTable('Requests', { made: 4 })];
  const page = renderReport({ title: 'T', command: 'c', about: 'a', tables, violations: ['seed 8: wrong'] });
  expect(page).toMatch(/\| kill billing +\| +3 \| +30 \| +50 \|/);
  expect(page).toMatch(/\| made +\| +4 \|/);
  expect(page).toMatch(/Violations: 1\.\n\n- seed 8: wrong\n$/);
  expect(renderReport({ title: 'T', command: 'c', about: 'a', tables, violations: [] })).toContain('Violations: none.');
});

test('parseOptions returns defaults, and rejects unknown and invalid options', () => {
  const specs = { calls: { or: 5, min: 1, max: 9 } };
  expect(parseOptions(specs, [])).toEqual({ calls: 5 });
  expect(parseOptions(specs, ['--calls', '9'])).toEqual({ calls: 9 });
  const wrong = [['--calls', '10'], ['--calls', 'x'], ['--no'], ['calls']];
  for (const args of wrong) expect(() => parseOptions(specs, args)).toThrow();
});
