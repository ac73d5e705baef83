import { expect, test } from '@jest/globals';
import { sample } from '../../test/samples.js';
import { factorsOf } from './factors.js';
import { renderFactors } from './render-factors.js';

const CPU = 'CPU of all processes per plain call, 64 connections, µs';
const named = (what: string, factors: ReturnType<typeof factorsOf>) => factors.find((one) => one.what === what);
/** A round with measurements of both builds. */
const round = (n: number, ours: number, theirs: number) => [
  sample('gateway', n, { 'edge-proxy': ours * 0.25, nats: ours * 0.75 }, 2),
  sample('against', n, { 'edge-proxy': theirs * 0.5, nats: theirs * 0.5 }, 4),
];

test('the factor is the median of the factors within the rounds', () => {
  const samples = [
    [80, 100],
    [160, 200],
    [410, 500],
    [800, 1_000],
    [83, 100],
  ].flatMap(([ours = 0, theirs = 0], n) => round(n + 1, ours, theirs));
  const factors = factorsOf(samples, []);
  const whole = named(CPU, factors);
  expect(whole).toMatchObject({ ours: 160, theirs: 200, rounds: 5, isNoisy: false });
  expect(whole?.factor.median).toBeCloseTo(0.8);
  expect(whole?.factor.max).toBeCloseTo(0.83);
  expect(named('CPU of the edge per plain call, 64 connections, µs', factors)?.factor.median).toBeCloseTo(0.4);
});

test('every row uses its scenario and the idle CPU of the same round', () => {
  const scenarios = ['plain-1', 'paced-200', 'paced-half', 'plain-64', 'streamed-16'];
  const samples = scenarios.flatMap((scenario) => round(1, 50, 100).map((one) => ({ ...one, scenario })));
  const idle = (peer: 'gateway' | 'against', n: number, nats: number) =>
    ({ peer, round: n, cpuMicrosPerSecond: { nats, redis: 10 } }) as const;
  const factors = factorsOf(samples, [idle('gateway', 1, 10), idle('against', 1, 90), idle('gateway', 2, 500)]);
  expect(factors.map(({ factor }) => factor.median)).toEqual([0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.2, 0.25, 0.25]);
});

test('marks rows with too few or too different rounds as noisy', () => {
  const few = factorsOf([...round(1, 80, 100), ...round(2, 80, 100)], []);
  const wild = factorsOf(
    [80, 120, 80, 120, 100].flatMap((ours, n) => round(n + 1, ours, 100)),
    [],
  );
  const onePeak = factorsOf(
    [80, 80, 80, 80, 400].flatMap((ours, n) => round(n + 1, ours, 100)),
    [],
  );
  expect([few, wild, onePeak].map((factors) => named(CPU, factors)?.isNoisy)).toEqual([true, true, false]);
  const page = renderFactors('0123456789ab', wild);
  expect(page).toContain('## This build ÷ 0123456789ab');
  const cells = page.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  expect(cells).toContainEqual(['', CPU, '100', '100', '1.00 ‡', '0.800 to 1.20', '5', '']);
  expect(page).toContain('are too noisy to tell a difference of 5 %');
  expect(
    renderFactors(
      '0123456789ab',
      [named(CPU, onePeak)].flatMap((one) => one ?? []),
    ),
  ).not.toContain('noisy');
});

test('ignores a round that measured only one of the builds', () => {
  expect(factorsOf([sample('gateway', 1, { nats: 1 }, 2), sample('against', 2, { nats: 1 }, 2)], [])).toEqual([]);
});

test('shows first steps and aims only for the base commit', () => {
  const rounds = [1, 2, 3, 4, 5].flatMap((n) => round(n, 60, 100));
  const cells = renderFactors('e6f4449782c2', factorsOf(rounds, []))
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()));
  expect(cells.find((row) => row[1] === CPU)?.slice(4, -1)).toEqual([
    '0.600',
    '0.600 to 0.600',
    '5',
    '0.680',
    '0.480',
    'first step',
  ]);
});
