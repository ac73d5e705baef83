import { SOURCE_HEALTH_EVERY_MS, SOURCE_HEALTH_MAX } from '@gateway/contracts/messages';
import type { Clock, Timer, TimerClock } from '@gateway/service-kit';
import { toFiguresAt } from '../sources/source-figures.js';
import type { BusClient, Catalog, HealthMessage } from '../ports.js';
import type { SourceQuotas } from '../quotas/source-quotas.js';
import type { SourceRecord, SourceHealths } from './source-healths.js';

/** Shortest time between two messages about changes. */
const PUBLISH_MS_MIN = 1_000;

export interface HealthReportParts {
  readonly edge: string;
  readonly bus: Pick<BusClient, 'publishHealth'>;
  readonly catalog: Pick<Catalog, 'entry'>;
  readonly healths: Pick<SourceHealths, 'keep'>;
  readonly quotas: Pick<SourceQuotas, 'useOf'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly timers: TimerClock;
}

/**
 * Publishes the health of this edge's sources, to operators by way of the catalog and to other
 * edges. Publishes immediately when a source enters or leaves cooldown, otherwise every 5 s. Drops
 * sources that are no longer in the catalog.
 */
export class HealthReport {
  readonly #parts: HealthReportParts;
  readonly #timer: Timer;
  #publishedAt = -Infinity;
  #isDue = false;

  constructor(parts: HealthReportParts) {
    this.#parts = parts;
    this.#timer = parts.timers.setTicker(PUBLISH_MS_MIN, () => this.#publishIfDue()).unref();
  }

  changed(): void {
    this.#isDue = true;
    this.#publishIfDue();
  }

  stop(): void {
    this.#timer.cancel();
  }

  #publishIfDue(): void {
    const pauseMs = this.#isDue ? PUBLISH_MS_MIN : SOURCE_HEALTH_EVERY_MS;
    if (this.#parts.timers.monotonicMs() - this.#publishedAt >= pauseMs) this.#publish();
  }

  #publish(): void {
    const { edge, bus, catalog, healths, quotas, clock } = this.#parts;
    this.#publishedAt = this.#parts.timers.monotonicMs();
    this.#isDue = false;
    const known = healths.keep((source) => catalog.entry(source) !== undefined);
    const completedElsewhere = lastCompletions(known);
    const sources = known.map(([source, each]) => ({
      ...toWire(source, each, completedElsewhere(source), clock.nowMs()),
      quota: quotas.useOf(source),
    }));
    for (let from = 0; from < sources.length; from += SOURCE_HEALTH_MAX) {
      bus.publishHealth({ edge, sources: sources.slice(from, from + SOURCE_HEALTH_MAX) });
    }
  }
}

type Known = readonly [source: string, known: SourceRecord];

/** Returns the time of the last completed call at any other source, or -Infinity. */
function lastCompletions(all: readonly Known[]): (source: string) => number {
  let last: { readonly source: string; readonly atMs: number } = { source: '', atMs: -Infinity };
  let lastElsewhereMs = -Infinity;
  for (const [source, { completedAt }] of all) {
    const atMs = completedAt ?? -Infinity;
    if (atMs > last.atMs) {
      lastElsewhereMs = last.atMs;
      last = { source, atMs };
    } else lastElsewhereMs = Math.max(lastElsewhereMs, atMs);
  }
  return (source) => (source === last.source ? lastElsewhereMs : last.atMs);
}

function toWire(
  source: string,
  known: SourceRecord,
  completedElsewhereMs: number,
  nowMs: number,
): Omit<HealthMessage['sources'][number], 'quota'> {
  const { health, lastOutcome, lastStatus, lastAt } = known;
  const { attemptsBefore, errorsBefore, overQuotaBefore, ...figures } = toFiguresAt(known.figures, nowMs);
  return {
    source,
    failures: health.failures,
    coolUntil: Math.ceil(Math.max(health.coolUntilMs, health.refusedUntilMs)),
    openUntil: Math.ceil(health.openUntilMs),
    lastOutcome,
    lastStatus,
    lastAt,
    probing: health.probing,
    answeredElsewhere: completedElsewhereMs >= (lastAt ?? 0),
    attempts: figures.attempts + attemptsBefore,
    errors: figures.errors + errorsBefore,
    overQuota: figures.overQuota + overQuotaBefore,
    firstByteMs: figures.firstByteMs === null ? null : Math.round(figures.firstByteMs),
  };
}
