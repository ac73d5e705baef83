import { SOURCE_HEALTH_EVERY_MS } from '@gateway/contracts/messages';
import { isCoolingDown, type SourceHealth } from './source-order.js';

/** News of an edge expire this long after its last message: three of its intervals. */
export const REMOTE_HEALTH_TTL_MS = 3 * SOURCE_HEALTH_EVERY_MS;

/** The last health of a source that another edge published. All times are admission's. */
export interface RemoteHealth {
  readonly edge: string;
  readonly heardAtMs: number;
  /** End of a cooldown that the provider requested or that follows a refused credential, else 0. */
  readonly coolUntilMs: number;
  /** Time until which its breaker is open; 0 if it is closed. */
  readonly openUntilMs: number;
  /** The edge probes the source after an open breaker's time. */
  readonly probing: boolean;
  /** End of its last attempt at the source; null if there is none. */
  readonly lastAtMs: number | null;
  /**
   * The edge has completed a call at another source since then, so that its own network is not the
   * cause.
   */
  readonly answeredElsewhere: boolean;
}

/** An edge's own knowledge of a source. */
export interface OwnHealth {
  readonly health: SourceHealth;
  /** End of its last attempt at the source; null if there is none. */
  readonly lastAt: number | null;
}

/**
 * Groups of sources, tried in this order. 0: healthy as far as known. 1: other edges report a
 * cooldown or an open breaker. 2: the source is in a cooldown or its breaker is open here, or
 * another edge probes it.
 */
export type HealthRank = 0 | 1 | 2;

/**
 * Computes a source's group. Own attempts decide; reports of other edges have a lower priority and
 * only change the order (docs/decisions/0093-edges-share-source-health.md).
 */
export function computeHealthRank(
  own: OwnHealth | undefined,
  entries: readonly RemoteHealth[],
  nowMs: number,
): HealthRank {
  if (isCoolingDown(own?.health, nowMs)) return 2;
  if (entries.length === 0) return 0;
  const heard = entries.filter(({ heardAtMs }) => nowMs - heardAtMs < REMOTE_HEALTH_TTL_MS);
  const wouldProbe = own !== undefined && own.health.openUntilMs > 0;
  if (wouldProbe && heard.some(({ probing }) => probing)) return 2;
  return isUnhealthyElsewhere(heard, own?.lastAt ?? -Infinity, nowMs) ? 1 : 0;
}

/**
 * Returns whether reports of other edges delay the source. A cooldown or refusal by the provider
 * counts at once. An open breaker counts only if the other edge's network cannot be the cause: the
 * edge has completed a call elsewhere since, or a second edge reports the same.
 */
function isUnhealthyElsewhere(heard: readonly RemoteHealth[], ownLastAtMs: number, nowMs: number): boolean {
  const newer = heard.filter(({ lastAtMs }) => (lastAtMs ?? 0) > ownLastAtMs);
  if (newer.some(({ coolUntilMs }) => coolUntilMs > nowMs)) return true;
  const open = newer.filter(({ openUntilMs }) => openUntilMs > nowMs);
  return open.length > 1 || open.some(({ answeredElsewhere }) => answeredElsewhere);
}

/** Returns whether the report is worth keeping: it affects the order now, or may later. */
export function affectsOrder({ coolUntilMs, openUntilMs, probing }: RemoteHealth, nowMs: number): boolean {
  return coolUntilMs > nowMs || openUntilMs > nowMs || probing;
}
