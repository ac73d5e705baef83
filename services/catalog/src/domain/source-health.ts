import type { BodyOf, edgeHealth } from '@gateway/contracts/messages';
import type { SourceHealthView } from '@gateway/contracts/operator';

/** What one edge last said of one source. */
export interface SourceReport {
  readonly edge: string;
  readonly facts: BodyOf<typeof edgeHealth>['sources'][number];
  /** When it arrived, epoch milliseconds. */
  readonly reportedAtMs: number;
}

/** An open breaker counts before a rest after a 429; both rest until the later of their times. */
export function sourceHealthOf(
  { edge, facts, reportedAtMs }: SourceReport,
  modelId: string,
  nowMs: number,
): SourceHealthView {
  const restsUntilMs = Math.max(facts.coolUntil, facts.openUntil);
  return {
    sourceId: facts.source,
    modelId,
    edge,
    state: facts.openUntil > nowMs ? 'open' : facts.coolUntil > nowMs ? 'cooling' : 'healthy',
    failuresInARow: facts.failures,
    restsUntil: restsUntilMs > nowMs ? timeText(restsUntilMs) : null,
    lastOutcome: facts.lastOutcome,
    lastStatus: facts.lastStatus,
    lastAttemptAt: facts.lastAt === null ? null : timeText(facts.lastAt),
    reportedAt: timeText(reportedAtMs),
  };
}

/** The end of the year 9999, the last one that RFC 3339 can write. */
const TIME_MAX_MS = 253_402_300_799_999;

function timeText(ms: number): string {
  return new Date(Math.min(ms, TIME_MAX_MS)).toISOString();
}
