import { Counter, Family, Histogram, type LabelSet } from './metric-cells.js';

/** One value, or several that differ in one label. */
export type GaugeReading = number | Iterable<readonly [labelValue: string, value: number]>;

export interface GaugeOptions {
  /** Name of the label that distinguishes the values of one reading. */
  readonly label?: string;
}

export interface Registered<C> {
  readonly help: string;
  readonly family: Family<C, LabelSet>;
  /** The most series that the declared labels can have. */
  readonly seriesMax: number;
}

export interface RegisteredGauge {
  readonly help: string;
  readonly label: string;
  readonly read: () => GaugeReading;
}

/** Maximum number of series of one metric's declared labels, with the buckets of a histogram. */
const SERIES_MAX = 3_000;
/** Series of a histogram in addition to its buckets: the last bucket, sum and count. */
const SERIES_BESIDE_BUCKETS = 3;
/** `gen_ai_` only for metrics that the semantic conventions for generative AI define. */
const NAME_FORM = /^(gateway|gen_ai)_[a-z0-9]+(_[a-z0-9]+)*$/;

/** All metrics of this process, read by `collectMetrics`. */
export const registry = {
  counters: new Map<string, Registered<Counter>>(),
  histograms: new Map<string, Registered<Histogram>>(),
  gauges: new Map<string, RegisteredGauge>(),
};

/**
 * Returns a counter of this process. The name begins with `gateway_` and ends with `_total`; the
 * same name returns the same counter. With `labels` it returns a family: `.of({outcome:
 * 'settled'})` is the counter of one combination.
 */
export function counter(name: string, help: string): Counter;
export function counter<const L extends LabelSet>(name: string, help: string, labels: L): Family<Counter, L>;
export function counter(name: string, help: string, labels: LabelSet = {}): Counter | Family<Counter, LabelSet> {
  if (!name.endsWith('_total')) throw new Error(`metric ${name}: the name of a counter ends with _total`);
  const family = register(registry.counters, name, help, labels, 1, () => new Counter());
  return isUnlabelled(labels) ? family.of({}) : family;
}

/**
 * Returns a histogram over `buckets`: ascending upper bounds in the unit at the end of the name,
 * such as `_seconds`.
 */
export function histogram(name: string, help: string, buckets: readonly number[]): Histogram;
export function histogram<const L extends LabelSet>(
  name: string,
  help: string,
  buckets: readonly number[],
  labels: L,
): Family<Histogram, L>;
export function histogram(
  name: string,
  help: string,
  buckets: readonly number[],
  labels: LabelSet = {},
): Histogram | Family<Histogram, LabelSet> {
  if (buckets.some((bound, index) => index > 0 && bound <= (buckets[index - 1] as number))) {
    throw new Error(`metric ${name}: buckets must ascend`);
  }
  const series = buckets.length + SERIES_BESIDE_BUCKETS;
  const family = register(registry.histograms, name, help, labels, series, () => new Histogram(buckets));
  return isUnlabelled(labels) ? family.of({}) : family;
}

/** Returns the most series of the counters and histograms with one of these prefixes. */
export function countSeriesMax(prefixes: readonly string[]): number {
  return [...registry.counters, ...registry.histograms]
    .filter(([name]) => prefixes.some((prefix) => name.startsWith(prefix)))
    .reduce((total, [, { seriesMax }]) => total + seriesMax, 0);
}

/**
 * Registers a value that is read when the metrics are collected. A later gauge of the same name
 * replaces it.
 */
export function gauge(name: string, help: string, read: () => GaugeReading, options: GaugeOptions = {}): void {
  checkName(name, registry.gauges);
  registry.gauges.set(name, { help, label: options.label ?? 'name', read });
}

function register<C>(
  own: Map<string, Registered<C>>,
  name: string,
  help: string,
  labels: LabelSet,
  seriesOfCell: number,
  make: () => C,
): Family<C, LabelSet> {
  const existing = own.get(name);
  if (existing && JSON.stringify(existing.family.declared) === JSON.stringify(labels)) return existing.family;
  if (existing) throw new Error(`metric ${name} was registered with other labels`);
  checkName(name, own);
  const series = Object.values(labels).reduce((product, values) => product * countValues(values), seriesOfCell);
  if (series > SERIES_MAX) {
    throw new Error(`metric ${name} declares ${series} series, at most ${SERIES_MAX} are allowed`);
  }
  const family = new Family(labels, make);
  own.set(name, { help, family, seriesMax: series });
  return family;
}

/** Returns the number of a label's values, with `other`. */
function countValues(values: LabelSet[string]): number {
  if ('follows' in values) return 1;
  return ('max' in values ? values.max : values.length) + 1;
}

function checkName(name: string, own: ReadonlyMap<string, unknown>): void {
  if (!NAME_FORM.test(name))
    throw new Error(`metric ${name}: names are gateway_ or gen_ai_ and lower-case words joined by _`);
  if (Object.values(registry).some((kind) => kind !== own && kind.has(name))) {
    throw new Error(`metric ${name} was registered as another kind`);
  }
}

function isUnlabelled(labels: LabelSet): boolean {
  return Object.keys(labels).length === 0;
}
