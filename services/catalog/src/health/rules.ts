import type { BodyOf, edgeHealth } from '@gateway/contracts/messages';
import type { SourceHealthView } from '@gateway/contracts/operator';

/** The last report of one edge about one source. */
export interface SourceReport {
  readonly edge: string;
  readonly health: BodyOf<typeof edgeHealth>['sources'][number];
  /** Time of receipt, epoch milliseconds. */
  readonly reportedAtMs: number;
}

/**
 * Converts a report to the operator API's view. An open breaker takes precedence over a cooldown
 * after a 429. The source is avoided until the later of both times.
 * @param all the last reports of all edges about the source, including this one
 */
export function sourceHealthOf(
  { edge, health, reportedAtMs }: SourceReport,
  modelId: string,
  all: readonly SourceReport[],
  nowMs: number,
): SourceHealthView {
  const restsUntilMs = restsUntilOf(health);
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
    ...figuresOf([health]),
    quota: health.quota,
    together: {
      edges: all.length,
      resting: all.filter((each) => restsUntilOf(each.health) > nowMs).length,
      ...figuresOf(all.map((each) => each.health)),
    },
  };
}

type Health = SourceReport['health'];
type Figures = Pick<SourceHealthView, 'attempts' | 'errorShare' | 'firstByteMs' | 'overQuota'>;

/** Combines the figures of several edges: sums, and averages weighted by attempts. */
function figuresOf(all: readonly Health[]): Figures {
  const attempts = sumOf(all, (each) => each.attempts);
  const answered = all.filter(({ firstByteMs }) => firstByteMs !== null);
  const weightOf = (each: Health): number => Math.max(each.attempts, 1);
  const firstBytes = sumOf(answered, (each) => (each.firstByteMs ?? 0) * weightOf(each));
  return {
    attempts,
    errorShare: attempts === 0 ? null : Math.min(1, sumOf(all, (each) => each.errors) / attempts),
    overQuota: sumOf(all, (each) => each.overQuota),
    firstByteMs: answered.length === 0 ? null : Math.round(firstBytes / sumOf(answered, weightOf)),
  };
}

function sumOf(all: readonly Health[], figure: (each: Health) => number): number {
  return all.reduce((sum, each) => sum + figure(each), 0);
}

function restsUntilOf({ coolUntil, openUntil }: Health): number {
  return Math.max(coolUntil, openUntil);
}

/** The end of the year 9999, the last one of RFC 3339. */
const TIME_MAX_MS = 253_402_300_799_999;

function timeText(ms: number): string {
  return new Date(Math.min(ms, TIME_MAX_MS)).toISOString();
}
