import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from '@jest/globals';
import type { CatalogModel, CatalogSource } from '@gateway/contracts/messages';
import { countSeriesMax, counter, histogram } from '@gateway/service-kit';
import { recordingLog } from '@gateway/testkit';
import { watchRefreshes } from '../credentials/shared-authorizers.js';
import { CatalogRows, type NamingCatalog, PAIR_LABELS, SOURCE_LABELS } from './catalog-metrics.js';
import { registry } from '../../../../libs/service-kit/src/telemetry/metrics.js';
import { makeEdgeMetrics } from './edge-metrics.js';

type Labels = Readonly<Record<string, string>>;
const COMPLETED = { outcome: 'completed', errorClass: null } as const;
const CHARGED = { usage: { input: 9, cachedInput: 4, cacheWrite: 0, cacheWrite1h: 0, output: 3 }, amountNanoUsd: 5e8 };

/** A catalog whose entries a test changes: enabled sources by ID. */
class TestCatalog implements NamingCatalog {
  readonly sources = new Map<string, { model: string; provider: string; enabled: boolean }>();
  readonly inactive = new Set<string>();

  model(id: string): CatalogModel | undefined {
    const isKnown = this.sourcesOf(id).length > 0;
    return isKnown ? ({ id, active: !this.inactive.has(id) } as unknown as CatalogModel) : undefined;
  }
  entry(id: string): CatalogSource | undefined {
    return this.sources.get(id) as unknown as CatalogSource | undefined;
  }
  sourcesOf(model: string): readonly CatalogSource[] {
    return [...this.sources.values()].filter((source) => source.model === model) as unknown as CatalogSource[];
  }
}

/** Returns the values of a metric's series whose labels contain all of these. */
function valuesOf(metric: keyof typeof LABELS, wanted: Labels): number[] {
  // The same name and labels return the same metric.
  const family = metric.endsWith('_total')
    ? counter(metric, 'x', LABELS[metric])
    : histogram(metric, 'x', metric.includes('added') ? [0.05] : [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30], LABELS[metric]);
  const cells = [...(family.cells() as Iterable<{ labels: Labels; cell: { value?: number; count?: number } }>)];
  return cells
    .filter(({ labels }) => Object.entries(wanted).every(([name, value]) => labels[name] === value))
    .map(({ cell }) => cell.value ?? cell.count ?? 0);
}

const LABELS = {
  gateway_edge_attempts_total: {
    ...SOURCE_LABELS,
    outcome: ['completed', 'rejected', 'unreachable', 'timed_out', 'broken', 'abandoned'],
  },
  gateway_edge_source_first_byte_seconds: SOURCE_LABELS,
  gateway_edge_source_added_seconds: SOURCE_LABELS,
  gateway_edge_model_requests_total: { ...PAIR_LABELS, outcome: ['complete', 'cut', 'failed', 'client_disconnected'] },
  gateway_edge_model_tokens_total: { ...PAIR_LABELS, type: ['input', 'cached_input', 'output'] },
  gateway_edge_model_charged_usd_total: PAIR_LABELS,
} as const;

// Another suite in this process may have used up the names of a label.
beforeAll(() => {
  for (const name of Object.keys(LABELS)) registry[name.endsWith('_total') ? 'counters' : 'histograms'].delete(name);
});

test('an attempt is counted by source, provider, model and class of error', () => {
  const catalog = new TestCatalog();
  catalog.sources.set('one-src', { model: 'one/model', provider: 'one', enabled: true });
  const metrics = makeEdgeMetrics(catalog);
  const labels = { source: 'one-src', provider: 'one', model: 'one/model' };
  metrics.attemptEnded('one-src', COMPLETED, 120);
  metrics.attemptEnded('one-src', { outcome: 'rejected', errorClass: 'quota' }, null);
  metrics.timeAdded('one-src', 40, 20);
  expect(valuesOf('gateway_edge_attempts_total', labels)).toEqual([1, 1]);
  expect(valuesOf('gateway_edge_attempts_total', { ...labels, outcome: 'rejected' })).toEqual([1]);
  expect(valuesOf('gateway_edge_source_first_byte_seconds', labels)).toEqual([1]);
  expect(valuesOf('gateway_edge_source_added_seconds', labels)).toEqual([1]);
});

test('a call is counted by model and provider, with its tokens and its charge', () => {
  const catalog = new TestCatalog();
  catalog.sources.set('two-src', { model: 'two/model', provider: 'two', enabled: true });
  const metrics = makeEdgeMetrics(catalog);
  metrics.modelCallEnded('two/model', 'two', 'complete', CHARGED);
  metrics.modelCallEnded('two/model', undefined, 'failed', null);
  const labels = { model: 'two/model', provider: 'two' };
  expect(valuesOf('gateway_edge_model_requests_total', { ...labels, outcome: 'complete' })).toEqual([1]);
  expect(valuesOf('gateway_edge_model_requests_total', { model: 'two/model', provider: 'none' })).toEqual([1]);
  expect(valuesOf('gateway_edge_model_tokens_total', labels)).toEqual([9, 4, 3]);
  expect(valuesOf('gateway_edge_model_charged_usd_total', labels)).toEqual([0.5]);
});

test('unknown and disabled models and sources have no series', () => {
  const catalog = new TestCatalog();
  catalog.sources.set('off-src', { model: 'off/model', provider: 'off', enabled: false });
  catalog.sources.set('three-src', { model: 'three/model', provider: 'three', enabled: true });
  catalog.inactive.add('three/model');
  const metrics = makeEdgeMetrics(catalog);
  const [other] = valuesOf('gateway_edge_model_requests_total', { model: 'other', outcome: 'failed' });
  for (const model of ['made/up', 'off/model', 'three/model']) {
    metrics.modelCallEnded(model, model.split('/')[0], 'failed', null);
  }
  for (const source of ['made-up', 'off-src']) metrics.attemptEnded(source, COMPLETED, null);
  for (const model of ['made/up', 'off/model', 'three/model']) {
    expect(valuesOf('gateway_edge_model_requests_total', { model })).toEqual([]);
  }
  for (const source of ['made-up', 'off-src']) expect(valuesOf('gateway_edge_attempts_total', { source })).toEqual([]);
  expect(valuesOf('gateway_edge_model_requests_total', { model: 'other', outcome: 'failed' })).toEqual([
    (other ?? 0) + 3,
  ]);
});

test('a catalog change removes the series of removed, disabled and moved entries', () => {
  const catalog = new TestCatalog();
  for (const name of ['kept', 'gone', 'off', 'moved']) {
    catalog.sources.set(`${name}-src`, { model: `${name}/model`, provider: 'four', enabled: true });
  }
  const metrics = makeEdgeMetrics(catalog);
  const countAll = (): void => {
    for (const name of ['kept', 'gone', 'off', 'moved']) {
      metrics.attemptEnded(`${name}-src`, COMPLETED, 5);
      metrics.timeAdded(`${name}-src`, 1, 1);
      metrics.modelCallEnded(`${name}/model`, 'four', 'complete', CHARGED);
    }
  };
  countAll();
  const seriesOf = (provider: string): number[] =>
    Object.keys(LABELS).map((metric) => valuesOf(metric as keyof typeof LABELS, { provider }).length);
  expect(seriesOf('four')).toEqual([4, 4, 4, 4, 12, 4]);
  catalog.sources.delete('gone-src');
  catalog.sources.set('off-src', { model: 'off/model', provider: 'four', enabled: false });
  catalog.sources.set('moved-src', { model: 'moved/model', provider: 'five', enabled: true });
  metrics.catalogChanged();
  expect(seriesOf('four')).toEqual([1, 1, 1, 1, 3, 1]);
  // Calls that run while their entries are removed.
  countAll();
  expect(seriesOf('four')).toEqual([1, 1, 1, 1, 3, 1]);
  expect(valuesOf('gateway_edge_attempts_total', { source: 'kept-src' })).toEqual([2]);
  expect(valuesOf('gateway_edge_attempts_total', { source: 'moved-src', provider: 'five' })).toEqual([1]);
});

test('names and rows are bounded, and a removed name frees its place', () => {
  const known = new Set(['a', 'b', 'c', 'd']);
  const dropped: string[] = [];
  const rows = new CatalogRows<string, { readonly name: string }>({
    namesMax: 3,
    rowsMax: 4,
    other: 'other',
    find: (name, part) => (known.has(name) ? name + part : null),
    make: (name) => ({ name }),
    drop: (name) => void dropped.push(name),
  });
  const namesOf = (...wanted: readonly [string, string?][]) => wanted.map((each) => rows.of(...each).name);
  expect(namesOf(['x'], ['a', '1'], ['b', '1'], ['a', '2'], ['c', '1'])).toEqual(['other', 'a1', 'b1', 'a2', 'c1']);
  expect(namesOf(['d', '1'], ['a', '3'], ['a', '1'])).toEqual(['other', 'other', 'a1']);
  known.delete('a');
  rows.renew();
  expect(dropped).toEqual(['a1', 'a2']);
  expect(namesOf(['a', '1'], ['d', '1'], ['b', '2'], ['c', '2'])).toEqual(['other', 'd1', 'b2', 'other']);
});

test('the number of series in the documentation is that of the declarations', () => {
  makeEdgeMetrics(new TestCatalog());
  watchRefreshes(recordingLog());
  const page = readFileSync(new URL('../../../../deploy/observe/README.md', import.meta.url), 'utf8');
  const most = countSeriesMax(['gateway_edge_', 'gen_ai_']);
  expect(page).toContain(`at most ${most.toLocaleString('en-US')} series`);
});
