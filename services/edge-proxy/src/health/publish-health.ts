import { SOURCE_HEALTH_EVERY_MS, SOURCE_HEALTH_MAX } from '@gateway/contracts/messages';
import type { BusClient, Catalog, HealthMessage } from '../ports.js';
import type { KnownSource, SourceHealths } from './source-healths.js';

/** Changes are told at once, but no more often than this. */
const TOLD_AGAIN_MS_MIN = 1_000;

export interface HealthReportParts {
  readonly edge: string;
  readonly bus: Pick<BusClient, 'publishHealth'>;
  readonly catalog: Pick<Catalog, 'entry'>;
  readonly healths: Pick<SourceHealths, 'keep'>;
  readonly monotonicMs: () => number;
}

/**
 * Tells the catalog what this edge remembers of its sources, for operators to see: at once when one
 * begins or ceases to rest, else every 5 s. Sources that the catalog has no longer are forgotten
 * here.
 */
export class HealthReport {
  readonly #parts: HealthReportParts;
  readonly #timer: NodeJS.Timeout;
  #toldAt = -Infinity;
  #isDue = false;

  constructor(parts: HealthReportParts) {
    this.#parts = parts;
    this.#timer = setInterval(() => this.#look(), TOLD_AGAIN_MS_MIN).unref();
  }

  changed(): void {
    this.#isDue = true;
    this.#look();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const restMs = this.#isDue ? TOLD_AGAIN_MS_MIN : SOURCE_HEALTH_EVERY_MS;
    if (this.#parts.monotonicMs() - this.#toldAt >= restMs) this.#tell();
  }

  #tell(): void {
    const { edge, bus, catalog, healths } = this.#parts;
    this.#toldAt = this.#parts.monotonicMs();
    this.#isDue = false;
    const sources = healths.keep((source) => catalog.entry(source) !== undefined).map(toWire);
    for (let from = 0; from < sources.length; from += SOURCE_HEALTH_MAX) {
      bus.publishHealth({ edge, sources: sources.slice(from, from + SOURCE_HEALTH_MAX) });
    }
  }
}

function toWire([source, known]: readonly [string, KnownSource]): HealthMessage['sources'][number] {
  const { health, lastOutcome, lastStatus, lastAt } = known;
  return {
    source,
    failures: health.failures,
    coolUntil: Math.ceil(Math.max(health.coolUntilMs, health.refusedUntilMs)),
    openUntil: Math.ceil(health.openUntilMs),
    lastOutcome,
    lastStatus,
    lastAt,
  };
}
