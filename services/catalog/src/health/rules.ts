import type { BodyOf, edgeHealth } from '@gateway/contracts/messages';
import type { SourceHealthView } from '@gateway/contracts/operator';

/** What one edge last reported of one source. */
export interface SourceReport {
  readonly edge: string;
  readonly health: BodyOf<typeof edgeHealth>['sources'][number];
  /** When it arrived, epoch milliseconds. */
  readonly reportedAtMs: number;
}

/** An open breaker counts before a rest after a 429; both rest until the later of their times. */
export function sourceHealthOf(
  { edge, health, reportedAtMs }: SourceReport,
  modelId: string,
  nowMs: number,
): SourceHealthView {
  const restsUntilMs = Math.max(health.coolUntil, health.openUntil);
  return {
    sourceId: health.source,
    modelId,
    edge,
    state: health.openUntil > nowMs ? 'open' : health.coolUntil > nowMs ? 'cooling' : 'healthy',
    failuresInARow: health.failures,
    restsUntil: restsUntilMs > nowMs ? timeText(restsUntilMs) : null,
    lastOutcome: health.lastOutcome,
    lastStatus: health.lastStatus,
    lastAttemptAt: health.lastAt === null ? null : timeText(health.lastAt),
    reportedAt: timeText(reportedAtMs),
  };
}

/** The end of the year 9999, the last one that RFC 3339 can write. */
const TIME_MAX_MS = 253_402_300_799_999;

function timeText(ms: number): string {
  return new Date(Math.min(ms, TIME_MAX_MS)).toISOString();
}
