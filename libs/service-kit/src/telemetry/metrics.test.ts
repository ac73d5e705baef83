import { expect, test } from '@jest/globals';
import { collectMetrics } from './collect-metrics.js';
import { countSeriesMax, counter, gauge, histogram } from '../index.js';

/** Returns the data points of one metric as [labels, value]. */
function points(name: string): [unknown, unknown][] {
  const metric = collectMetrics([0, 0], [1, 0]).find(({ descriptor }) => descriptor.name === name);
  return (metric?.dataPoints ?? []).map(({ attributes, value }) => [attributes, value]);
}

test('a counter starts at zero and is shared by name', () => {
  counter('gateway_test_calls_total', 'Calls');
  expect(points('gateway_test_calls_total')).toEqual([[{}, 0]]);
  counter('gateway_test_calls_total', 'Calls').add();
  counter('gateway_test_calls_total', 'Calls').add(2);
  expect(points('gateway_test_calls_total')).toEqual([[{}, 3]]);
});

test('an undeclared label value is counted as other', () => {
  const family = counter('gateway_test_ends_total', 'Ends', { outcome: ['settled', 'voided'], kind: ['a'] });
  family.of({ outcome: 'settled', kind: 'a' }).add();
  const surprise = { outcome: 'key-1234', kind: 'a' } as unknown as { outcome: 'settled'; kind: 'a' };
  family.of(surprise).add(5);
  family.of({ ...surprise, outcome: 'key-5678' as 'settled' }).add();
  expect(points('gateway_test_ends_total')).toEqual([
    [{ outcome: 'settled', kind: 'a' }, 1],
    [{ outcome: 'other', kind: 'a' }, 6],
  ]);
});

test('an open label keeps the first values and counts further ones as other', () => {
  const family = counter('gateway_test_tries_total', 'Tries', { outcome: ['good', 'bad'], source: { max: 2 } });
  for (const source of ['a', 'b', 'c', 'd', 'a']) family.of({ outcome: 'good', source }).add();
  family.of({ outcome: 'bad', source: 'b' }).add();
  family.of({ outcome: 'bad', source: 'd' }).add();
  expect(points('gateway_test_tries_total')).toEqual([
    [{ outcome: 'good', source: 'a' }, 2],
    [{ outcome: 'good', source: 'b' }, 1],
    [{ outcome: 'good', source: 'other' }, 2],
    [{ outcome: 'bad', source: 'b' }, 1],
    [{ outcome: 'bad', source: 'other' }, 1],
  ]);
  expect(() => counter('gateway_test_open_total', 'x', { source: { max: 3_000 } })).toThrow('3001 series');
});

test('a following label adds no series and is other with the label that it follows', () => {
  const labels = { source: { max: 2 }, provider: { follows: 'source' } } as const;
  const family = counter('gateway_test_follows_total', 'Follows', labels);
  const before = countSeriesMax(['gateway_test_follows']);
  for (const source of ['a', 'b', 'c']) family.of({ source, provider: `of-${source}` }).add();
  expect(points('gateway_test_follows_total')).toEqual([
    [{ source: 'a', provider: 'of-a' }, 1],
    [{ source: 'b', provider: 'of-b' }, 1],
    [{ source: 'other', provider: 'other' }, 1],
  ]);
  expect(before).toBe(3);
});

test('drop() removes the series of a value and frees its place', () => {
  const labels = { model: { max: 2 }, provider: { follows: 'model' }, outcome: ['good', 'bad'] } as const;
  const family = counter('gateway_test_dropped_total', 'Dropped', labels);
  const count = (model: string, provider: string): void => family.of({ model, provider, outcome: 'good' }).add();
  for (const provider of ['x', 'y']) count('a', provider);
  count('b', 'x');
  family.drop('a', 'x');
  count('c', 'x');
  family.drop('a', 'y');
  for (const model of ['c', 'd', 'a']) count(model, 'x');
  family.drop('unknown');
  expect(points('gateway_test_dropped_total')).toEqual([
    [{ model: 'b', provider: 'x', outcome: 'good' }, 1],
    [{ model: 'other', provider: 'other', outcome: 'good' }, 3],
    [{ model: 'c', provider: 'x', outcome: 'good' }, 1],
  ]);
});

test('a histogram counts a value at a bound into that bucket', () => {
  const latency = histogram('gateway_test_latency_seconds', 'Latency', [0.1, 1]);
  for (const value of [0.05, 0.1, 0.5, 1, 7]) latency.observe(value);
  expect(points('gateway_test_latency_seconds')).toEqual([
    [{}, { buckets: { boundaries: [0.1, 1], counts: [2, 2, 1] }, count: 5, sum: expect.closeTo(8.65) }],
  ]);
});

test('a gauge is read at collection, and one that throws has no value', () => {
  let depth = 1;
  gauge('gateway_test_depth', 'Depth', () => depth);
  gauge('gateway_test_broken', 'Broken', () => {
    throw new Error('not connected');
  });
  gauge('gateway_test_queues', 'Queues', () => new Map([['a', 1]]), { label: 'queue' });
  depth = 4;
  expect(points('gateway_test_depth')).toEqual([[{}, 4]]);
  expect(points('gateway_test_broken')).toEqual([]);
  expect(points('gateway_test_queues')).toEqual([[{ queue: 'a' }, 1]]);
});

test('a gauge reports a bounded number of series', () => {
  gauge('gateway_test_many', 'Many', () =>
    Array.from({ length: 1_000 }, (_value, index) => [`${index}`, index] as const),
  );
  expect(points('gateway_test_many')).toHaveLength(200);
});

test('invalid names, kinds, labels and bounds are refused', () => {
  expect(() => counter('calls_total', 'x')).toThrow('names are gateway_ or gen_ai_');
  expect(() => counter('gateway_test_calls', 'x')).toThrow('ends with _total');
  expect(() => gauge('gateway_test_calls_total', 'x', () => 1)).toThrow('another kind');
  expect(() => counter('gateway_test_ends_total', 'x', { outcome: ['settled'] })).toThrow('other labels');
  expect(() => histogram('gateway_test_h_seconds', 'x', [1, 1])).toThrow('ascend');
  const many = Array.from({ length: 54 }, (_value, index) => `v${index}`);
  expect(() => counter('gateway_test_wide_total', 'x', { a: many, b: many })).toThrow('3025 series');
  const buckets = Array.from({ length: 52 }, (_value, index) => index);
  expect(() => histogram('gateway_test_wide_seconds', 'x', buckets, { a: many })).toThrow('3025 series');
});
