import { expect, test } from '@jest/globals';
import { type Sample, COMPARED, findFactors, inTurn, summarize } from './measure.js';

const FIGURES = Object.keys(COMPARED);

/** Returns 1,000 calls in one second with the given CPU per call. */
function sample(peer: string, round: number, cpuPerCall: Record<string, number>, p50: number, calls = 1_000): Sample {
  return {
    round,
    scenario: 'plain-64',
    peer,
    result: {
      calls,
      failures: calls === 0 ? { 'status 500': 50 } : {},
      elapsedMs: 1_000,
      firstByteMs: { p50, p99: p50 * 3 },
      completeMs: { p50: p50 * 2, p99: p50 * 6 },
    },
    cpuMicros: Object.fromEntries(Object.entries(cpuPerCall).map(([name, micros]) => [name, micros * 1_000])),
    loadMicros: 500_000,
  };
}

test('summarizes medians over the rounds, and times added to the direct call', () => {
  const samples = [
    sample('gateway', 1, { 'edge-proxy': 80, nats: 10 }, 2),
    sample('gateway', 2, { 'edge-proxy': 90, nats: 8 }, 11),
    sample('gateway', 3, { 'edge-proxy': 400, nats: 9 }, 3),
    ...[1, 10, 2].map((p50, n) => sample('direct', n + 1, {}, p50)),
  ];
  expect(summarize(samples, 'plain-64', 'gateway')).toEqual([98, 90, 1_000, 3, 9, 6, 18, 50, 0, 2, 6]);
  expect(summarize(samples, 'plain-1', 'gateway')).toBeNull();
});

test('ignores a round without a response', () => {
  const samples = [sample('portkey', 1, { portkey: 1_000 }, 5), sample('portkey', 2, { portkey: 1 }, 0, 0)];
  expect(summarize(samples, 'plain-64', 'portkey')?.[0]).toBe(1_000);
});

test('counts the chunks of a stream', () => {
  const streamed = { ...sample('relay', 1, { relay: 200 }, 1), scenario: 'streamed-16' };
  expect(summarize([streamed], 'streamed-16', 'relay')?.slice(0, 3)).toEqual([2, 2, 100_000]);
});

test('a factor is the median of the factors within the rounds', () => {
  const samples = [80, 160, 410, 800, 83].flatMap((ours, n) => {
    const theirs = [100, 200, 500, 1_000, 100][n] ?? 0;
    return [
      sample('gateway', n + 1, { 'edge-proxy': ours * 0.25, nats: ours * 0.75 }, 2),
      sample('against', n + 1, { 'edge-proxy': theirs * 0.5, nats: theirs * 0.5 }, 4),
    ];
  });
  const factors = findFactors(samples, 'gateway', 'against');
  expect(factors.map(({ figure }) => figure)).toEqual(FIGURES);
  expect(factors[0]).toMatchObject({ quartiles: [0.8, 0.82], rounds: 5, isNoisy: false });
  expect(factors.map(({ median }) => Number(median.toFixed(2)))).toEqual([0.8, 0.4, 1, 0.5, 0.5, 0.5, 0.5]);
});

test('the edge is compared with all processes of another peer', () => {
  const samples = [sample('gateway', 1, { 'edge-proxy': 90, nats: 110 }, 1), sample('relay', 1, { relay: 40 }, 1)];
  const [all, edge] = findFactors(samples, 'gateway', 'relay');
  expect([all?.median, edge?.median]).toEqual([5, 2.25]);
});

test('a factor is noisy with too few or too different rounds', () => {
  const isNoisy = (...values: number[]) => {
    const rounds = values.flatMap((ours, n) => [
      sample('gateway', n, { nats: ours }, 1),
      sample('against', n, { nats: 100 }, 1),
    ]);
    return findFactors(rounds, 'gateway', 'against')[0]?.isNoisy;
  };
  expect([isNoisy(80, 80), isNoisy(80, 120, 80, 120, 100), isNoisy(80, 80, 80, 80, 400)]).toEqual([true, true, false]);
  const other = [sample('gateway', 1, { nats: 1 }, 2), sample('against', 2, { nats: 1 }, 2)];
  expect(findFactors(other, 'gateway', 'against')).toEqual([]);
});

test('inTurn() puts every peer first and after each of the others', () => {
  const peers = ['a', 'b', 'c'];
  const orders = Array.from({ length: 6 }, (_unused, turn) => inTurn(peers, turn));
  expect(orders.map((order) => [...order].sort())).toEqual(orders.map(() => peers));
  expect(new Set(orders.map(([first]) => first))).toEqual(new Set(peers));
  const after = new Set(orders.flatMap((order) => order.slice(1).map((peer, at) => `${order[at]}${peer}`)));
  expect([...after].sort()).toEqual(['ab', 'ac', 'ba', 'bc', 'ca', 'cb']);
});
