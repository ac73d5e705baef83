import { ATTEMPT_OUTCOMES, type AttemptRecord } from '@gateway/contracts/messages';
import type { TokenUsage } from '@gateway/metering';
import { type Counter, type Histogram, counter, histogram } from '@gateway/service-kit';
import { CLASS_RULES } from '../errors/class-rules.js';
import type { ErrorClass } from '../errors/error-class.js';
import type { AttemptJudgment } from '../errors/judge-attempt.js';
import type { Catalog } from '../ports.js';
import type { CallEnd } from '../pricing/charge.js';
import { LACKS, type MissingQuota } from '../quotas/held-share.js';

/** Enabled models, and enabled sources, with their own series. All others count as `other`. */
export const NAMED_MODELS_MAX = 200;
export const NAMED_SOURCES_MAX = 200;
/** Pairs of a model and a provider with their own series. */
export const NAMED_PAIRS_MAX = 300;
/**
 * Objective for the time that the gateway adds before a request is sent to a source
 * (docs/operating.md#objectives). The alert rules read this bucket.
 */
export const ADDED_OBJECTIVE_S = 0.05;

const OTHER = 'other';
/** Provider of a request that was sent to no source. */
const NO_PROVIDER = 'none';
const NANO_PER_USD = 1e9;
const CALL_ENDS = ['complete', 'cut', 'failed', 'client_disconnected'] as const satisfies readonly CallEnd[];
const ERROR_CLASSES = Object.keys(CLASS_RULES) as ErrorClass[];
const FIRST_BYTE_S = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const ADDED_S = [0.001, 0.0025, 0.005, 0.01, 0.025, ADDED_OBJECTIVE_S, 0.1, 0.25, 0.5, 1, 2.5];

/** Labels of the series of a source. */
export const SOURCE_LABELS = {
  source: { max: NAMED_SOURCES_MAX },
  provider: { follows: 'source' },
  model: { follows: 'source' },
} as const;
/** Labels of a pair. {@link CatalogRows} bounds the pairs, so the provider adds none. */
export const PAIR_LABELS = { model: { max: NAMED_PAIRS_MAX }, provider: { follows: 'model' } } as const;

/** The part of the catalog that decides which names have their own series. */
export type NamingCatalog = Pick<Catalog, 'model' | 'entry' | 'sourcesOf'>;

/** A usage event's charge. */
export interface ChargedUsage {
  readonly usage: TokenUsage | null;
  readonly amountNanoUsd: number;
}

/** Metrics with a model, a provider or a source as label: names that the catalog has enabled. */
export interface CatalogMetrics {
  /**
   * @param firstByteMs from the start of the attempt to the head of a usable response; null: none
   */
  attemptEnded(
    source: string,
    judged: Pick<AttemptJudgment, 'outcome' | 'errorClass'>,
    firstByteMs: number | null,
  ): void;
  /**
   * An admitted call has ended.
   * @param provider of the last attempt; undefined: the call was sent to no source
   * @param charged null: the call has no usage event
   */
  modelCallEnded(model: string, provider: string | undefined, ended: CallEnd, charged: ChargedUsage | null): void;
  /**
   * Records the time that the gateway added to a call, in milliseconds.
   * @param source of the last attempt
   * @param beforeMs from the whole request to the sources, and between them
   * @param afterMs from the end of the source's response to the last chunk
   */
  timeAdded(source: string, beforeMs: number, afterMs: number): void;
  /** A response reported its cost. `isRecorded`: the reported cost is recorded. */
  costReported(
    source: string,
    cost: { readonly computedNanoUsd: number; readonly reportedNanoUsd: number; readonly isRecorded: boolean },
  ): void;
  /**
   * An attempt was sent to a source without a share of its quota because no other source was left.
   */
  sentOverQuota(source: string, lack: MissingQuota): void;
  /** Removes the series of names that the catalog no longer has, or has with other labels. */
  catalogChanged(): void;
}

export function makeCatalogMetrics(catalog: NamingCatalog): CatalogMetrics {
  const models = makeModelSeries(catalog);
  const sources = makeSourceSeries(catalog);
  const added = histogram(
    'gateway_edge_added_seconds',
    'Time that the gateway adds to a request: before it is sent to a source, and after the end of the response',
    ADDED_S,
    { phase: ['before', 'after'] },
  );
  const [addedBefore, addedAfter] = [added.of({ phase: 'before' }), added.of({ phase: 'after' })];
  return {
    attemptEnded: (source, judged, firstByteMs) => sources.rows.of(source).attemptEnded(judged, firstByteMs),
    modelCallEnded: (model, provider, ended, charged) =>
      models.of(model, provider ?? NO_PROVIDER).callEnded(ended, charged),
    timeAdded(source, beforeMs, afterMs) {
      addedBefore.observe(beforeMs / 1_000);
      addedAfter.observe(afterMs / 1_000);
      sources.rows.of(source).timeAdded((beforeMs + afterMs) / 1_000);
    },
    costReported(source, cost) {
      sources.costReported(sources.rows.of(source).labels, cost);
    },
    sentOverQuota: (source, lack) => sources.sentOverQuota(sources.rows.of(source).labels, lack),
    catalogChanged() {
      models.renew();
      sources.rows.renew();
    },
  };
}

interface RowsOptions<L, S> {
  readonly namesMax: number;
  readonly rowsMax: number;
  /** Returns the labels of a row; null: the catalog does not have it enabled. */
  readonly find: (name: string, part: string) => L | null;
  readonly other: L;
  readonly make: (labels: L) => S;
  /** Removes the series with these labels. */
  readonly drop: (labels: L) => void;
}

/**
 * The only place where a name becomes a label value: bounds the series by the names that the
 * catalog has enabled and that were used first. All others share one row.
 */
export class CatalogRows<L, S> {
  readonly #options: RowsOptions<L, S>;
  readonly #rows = new Map<string, Map<string, { readonly labels: L; readonly series: S }>>();
  readonly #other: S;
  #count = 0;

  constructor(options: RowsOptions<L, S>) {
    this.#options = options;
    this.#other = options.make(options.other);
  }

  /** Returns the series of a name, and of its part if it has several. */
  of(name: string, part = ''): S {
    return this.#rows.get(name)?.get(part)?.series ?? this.#add(name, part);
  }

  /**
   * Removes the rows that {@link RowsOptions.find} no longer returns, or returns with other labels.
   */
  renew(): void {
    for (const [name, parts] of this.#rows) {
      for (const [part, { labels }] of parts) {
        if (JSON.stringify(this.#options.find(name, part)) === JSON.stringify(labels)) continue;
        parts.delete(part);
        this.#count -= 1;
        this.#options.drop(labels);
      }
      if (parts.size === 0) this.#rows.delete(name);
    }
  }

  #add(name: string, part: string): S {
    const { namesMax, rowsMax, find, make } = this.#options;
    const parts = this.#rows.get(name);
    if (this.#count >= rowsMax || (parts === undefined && this.#rows.size >= namesMax)) return this.#other;
    const labels = find(name, part);
    if (labels === null) return this.#other;
    const series = make(labels);
    if (parts === undefined) this.#rows.set(name, new Map([[part, { labels, series }]]));
    else parts.set(part, { labels, series });
    this.#count += 1;
    return series;
  }
}

interface ModelLabels {
  readonly model: string;
  readonly provider: string;
}

/** Series of the calls of one model at one provider. */
interface ModelSeries {
  callEnded(ended: CallEnd, charged: ChargedUsage | null): void;
}

function makeModelSeries(catalog: NamingCatalog): CatalogRows<ModelLabels, ModelSeries> {
  const calls = counter('gateway_edge_model_requests_total', 'Admitted requests by how they ended', {
    ...PAIR_LABELS,
    outcome: CALL_ENDS,
  });
  const tokens = counter(
    'gateway_edge_model_tokens_total',
    'Charged tokens, reported or estimated; `cached_input` is a part of `input`',
    { ...PAIR_LABELS, type: ['input', 'cached_input', 'output'] },
  );
  const charged = counter(
    'gateway_edge_model_charged_usd_total',
    'Charged amounts; the ledger has the exact ones',
    PAIR_LABELS,
  );
  return new CatalogRows<ModelLabels, ModelSeries>({
    namesMax: NAMED_MODELS_MAX,
    rowsMax: NAMED_PAIRS_MAX,
    other: { model: OTHER, provider: OTHER },
    find(model, provider) {
      if (catalog.model(model)?.active !== true) return null;
      const isKnown = (source: { readonly enabled: boolean; readonly provider: string }): boolean =>
        source.enabled && source.provider === provider;
      return provider === NO_PROVIDER || catalog.sourcesOf(model).some(isKnown) ? { model, provider } : null;
    },
    make(labels) {
      const ends: Partial<Record<CallEnd, Counter>> = {};
      let paid: { input: Counter; cached: Counter; output: Counter; usd: Counter } | null = null;
      return {
        callEnded(outcome, charge) {
          (ends[outcome] ??= calls.of({ ...labels, outcome })).add();
          if (charge === null || charge.usage === null) return;
          paid ??= {
            input: tokens.of({ ...labels, type: 'input' }),
            cached: tokens.of({ ...labels, type: 'cached_input' }),
            output: tokens.of({ ...labels, type: 'output' }),
            usd: charged.of(labels),
          };
          paid.input.add(charge.usage.input);
          paid.cached.add(charge.usage.cachedInput);
          paid.output.add(charge.usage.output);
          paid.usd.add(charge.amountNanoUsd / NANO_PER_USD);
        },
      };
    },
    drop({ model, provider }) {
      for (const family of [calls, tokens, charged]) family.drop(model, provider);
    },
  });
}

interface SourceLabels {
  readonly source: string;
  readonly provider: string;
  readonly model: string;
}

/** Series of one source. */
interface SourceSeries {
  readonly labels: SourceLabels;
  attemptEnded(judged: Pick<AttemptJudgment, 'outcome' | 'errorClass'>, firstByteMs: number | null): void;
  timeAdded(seconds: number): void;
}

function makeSourceSeries(catalog: NamingCatalog): {
  readonly rows: CatalogRows<SourceLabels, SourceSeries>;
  costReported(labels: SourceLabels, cost: Parameters<CatalogMetrics['costReported']>[1]): void;
  sentOverQuota(labels: SourceLabels, lack: MissingQuota): void;
} {
  const attempts = counter('gateway_edge_attempts_total', 'Attempts by outcome', {
    ...SOURCE_LABELS,
    outcome: ATTEMPT_OUTCOMES,
  });
  const errors = counter('gateway_edge_source_errors_total', "Errors that providers reported, by the error's class", {
    ...SOURCE_LABELS,
    class: ERROR_CLASSES,
  });
  const firstBytes = histogram(
    'gateway_edge_source_first_byte_seconds',
    'Time from the start of an attempt to the head of a usable response',
    FIRST_BYTE_S,
    SOURCE_LABELS,
  );
  const added = histogram(
    'gateway_edge_source_added_seconds',
    'Time that the gateway adds to a request, before and after, by the source of the last attempt',
    [ADDED_OBJECTIVE_S],
    SOURCE_LABELS,
  );
  const reportedCosts = counter(
    'gateway_edge_reported_cost_usd_total',
    'Cost of responses that report it, as reported (recorded) and as computed',
    { ...SOURCE_LABELS, cost: ['reported', 'computed'] },
  );
  const costsIgnored = counter(
    'gateway_edge_reported_cost_ignored_total',
    'Responses whose reported cost was 0 or more than 100 times the computed one',
    SOURCE_LABELS,
  );
  const overQuota = counter(
    'gateway_edge_attempts_over_quota_total',
    'Attempts sent without a share of the quota of the source because no other source was left',
    { ...SOURCE_LABELS, lack: LACKS },
  );
  const rows = new CatalogRows<SourceLabels, SourceSeries>({
    namesMax: NAMED_SOURCES_MAX,
    rowsMax: NAMED_SOURCES_MAX,
    other: { source: OTHER, provider: OTHER, model: OTHER },
    find(source) {
      const entry = catalog.entry(source);
      return entry?.enabled === true ? { source, provider: entry.provider, model: entry.model } : null;
    },
    make(labels) {
      const outcomes: Partial<Record<AttemptRecord['outcome'], Counter>> = {};
      const classes: Partial<Record<ErrorClass, Counter>> = {};
      let firstByte: Histogram | null = null;
      let addedTime: Histogram | null = null;
      return {
        labels,
        attemptEnded({ outcome, errorClass }, firstByteMs) {
          (outcomes[outcome] ??= attempts.of({ ...labels, outcome })).add();
          if (errorClass !== null) (classes[errorClass] ??= errors.of({ ...labels, class: errorClass })).add();
          if (firstByteMs !== null) (firstByte ??= firstBytes.of(labels)).observe(firstByteMs / 1_000);
        },
        timeAdded(seconds) {
          (addedTime ??= added.of(labels)).observe(seconds);
        },
      };
    },
    drop({ source }) {
      for (const family of [attempts, errors, firstBytes, added, reportedCosts, costsIgnored, overQuota]) {
        family.drop(source);
      }
    },
  });
  return {
    rows,
    costReported(labels, { computedNanoUsd, reportedNanoUsd, isRecorded }) {
      if (!isRecorded) return costsIgnored.of(labels).add();
      reportedCosts.of({ ...labels, cost: 'reported' }).add(reportedNanoUsd / NANO_PER_USD);
      reportedCosts.of({ ...labels, cost: 'computed' }).add(computedNanoUsd / NANO_PER_USD);
    },
    sentOverQuota: (labels, lack) => overQuota.of({ ...labels, lack }).add(),
  };
}
