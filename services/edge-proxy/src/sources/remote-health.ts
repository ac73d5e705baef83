import { SOURCE_HEALTH_EVERY_MS } from '@gateway/contracts/messages';
import { isResting, type SourceHealth } from './source-order.js';

/** News of an edge count for so long after it was heard last: three of its intervals. */
export const NEWS_COUNT_MS = 3 * SOURCE_HEALTH_EVERY_MS;

/** What another edge last said of a source. All times are those of admission. */
export interface SourceNews {
  readonly edge: string;
  readonly heardAtMs: number;
  /** The provider asked for a rest, or refused our credentials, until then; 0: it did not. */
  readonly coolUntilMs: number;
  /** Its breaker is open until then; 0: it is closed. */
  readonly openUntilMs: number;
  /** It tries the source after an open breaker's time. */
  readonly probing: boolean;
  /** When its last attempt there ended; null: none has. */
  readonly lastAtMs: number | null;
  /** Since then it has completed a call at another source: the fault is not on its own way out. */
  readonly answeredElsewhere: boolean;
}

/** What an edge knows of a source by itself. */
export interface OwnHealth {
  readonly health: SourceHealth;
  /** When its last attempt there ended; null: none has. */
  readonly lastAt: number | null;
}

/**
 * In which group a source is tried: 0, it is well as far as anybody knows; 1, others say that it
 * rests; 2, it rests by this edge's own attempts, or another edge probes it.
 */
export type RestRank = 0 | 1 | 2;

/**
 * Own attempts decide; what others say comes after them, and only orders
 * (docs/decisions/0093-health-of-sources-is-shared.md).
 */
export function restRank(own: OwnHealth | undefined, news: readonly SourceNews[], nowMs: number): RestRank {
  if (isResting(own?.health, nowMs)) return 2;
  if (news.length === 0) return 0;
  const heard = news.filter(({ heardAtMs }) => nowMs - heardAtMs < NEWS_COUNT_MS);
  const wouldProbe = own !== undefined && own.health.openUntilMs > 0;
  if (wouldProbe && heard.some(({ probing }) => probing)) return 2;
  return restsElsewhere(heard, own?.lastAt ?? -Infinity, nowMs) ? 1 : 0;
}

/**
 * A provider's own word counts at once. An open breaker does when the fault cannot be the edge's
 * own: it was answered elsewhere since, or a second edge says the same.
 */
function restsElsewhere(heard: readonly SourceNews[], ownLastAtMs: number, nowMs: number): boolean {
  const newer = heard.filter(({ lastAtMs }) => (lastAtMs ?? 0) > ownLastAtMs);
  if (newer.some(({ coolUntilMs }) => coolUntilMs > nowMs)) return true;
  const open = newer.filter(({ openUntilMs }) => openUntilMs > nowMs);
  return open.length > 1 || open.some(({ answeredElsewhere }) => answeredElsewhere);
}

/** Whether it is worth keeping: it orders something, or may. */
export function saysSomething({ coolUntilMs, openUntilMs, probing }: SourceNews, nowMs: number): boolean {
  return coolUntilMs > nowMs || openUntilMs > nowMs || probing;
}
