import { SOURCES_PER_MODEL_MAX } from '@gateway/contracts/messages';
import type { CatalogSource } from '@gateway/contracts/messages';
import { drawForSource, type AffinityKey } from '../parse/affinity.js';
import type { AttemptJudgment } from '../errors/judge-attempt.js';

/**
 * Consecutive failures that open a source's breaker, and the time that it stays open
 * (docs/behaviour.md#source-order).
 */
export const BREAKER_FAILURES = 5;
export const BREAKER_OPEN_MS = 30_000;
/**
 * First cooldown of a source that refuses our requests, and the longest one. Each further refusal
 * after a cooldown doubles it.
 */
export const REFUSED_MS = 30_000;
export const REFUSED_MS_MAX = 600_000;
/**
 * Number of accounts that must meet a refusal that one of them could have caused. At most this many
 * are stored per source.
 */
export const REFUSED_ACCOUNTS = 3;

/** An edge's state of a source. Undefined means healthy. */
export interface SourceHealth {
  /** Consecutive failures. */
  readonly failures: number;
  /** End of the cooldown after a 429; 0 if there is none. */
  readonly coolUntilMs: number;
  /** Time until which the breaker is open; 0 if closed. */
  readonly openUntilMs: number;
  /** End of the cooldown after a refusal; 0 if there is none. */
  readonly refusedUntilMs: number;
  /** A call probes the source after an open breaker's time. */
  readonly probing: boolean;
  /** Consecutive cooldowns after refusals. */
  readonly refusals: number;
  /**
   * Accounts whose requests the source refused since its last response, each for a reason that may
   * be the account's own request.
   */
  readonly doubts: readonly string[];
}

const HEALTHY: SourceHealth = {
  failures: 0,
  coolUntilMs: 0,
  openUntilMs: 0,
  refusedUntilMs: 0,
  probing: false,
  refusals: 0,
  doubts: [],
};

/**
 * Sorts sources in the order of attempts (docs/behaviour.md#source-order): by rank, then by
 * priority, the lowest first, then by weighted rendezvous hash of the key. Returns at most
 * `SOURCES_PER_MODEL_MAX`. A key always has the same order. If one of its sources is removed, the
 * others keep their order. Over many keys, each source is first in proportion to its weight.
 * @param sources enabled sources that serve the endpoint
 * @param rankOf the health group of a source: see `restRank`
 * @param key called at most once, and only if two sources have the same priority
 */
export function orderSources(
  sources: readonly CatalogSource[],
  rankOf: (source: string) => number,
  key: () => AffinityKey,
): CatalogSource[] {
  const hasEquals = new Set(sources.map(({ priority }) => priority)).size < sources.length;
  const ofKey = hasEquals ? key() : null;
  const drawn = sources.map((source) => ({
    source,
    rank: rankOf(source.id),
    draw: ofKey === null ? 0 : -Math.log(drawForSource(ofKey, source.id)) / source.weight,
  }));
  drawn.sort(
    (one, other) => one.rank - other.rank || one.source.priority - other.source.priority || one.draw - other.draw,
  );
  return drawn.slice(0, SOURCES_PER_MODEL_MAX).map(({ source }) => source);
}

/** Returns whether a source is in a cooldown or its breaker is open, so that it is tried last. */
export function isCoolingDown(health: SourceHealth | undefined, nowMs: number): boolean {
  if (health === undefined) return false;
  return health.coolUntilMs > nowMs || health.openUntilMs > nowMs || health.refusedUntilMs > nowMs;
}

/**
 * Updates the state when an attempt starts. The first attempt after an open breaker's time is the
 * probe. It keeps the breaker open for the same time again, so that no second call probes
 * concurrently. Its success closes the breaker.
 */
export function recordStart(health: SourceHealth | undefined, nowMs: number): SourceHealth {
  if (health === undefined) return HEALTHY;
  const isProbe = health.openUntilMs > 0 && health.openUntilMs <= nowMs;
  return isProbe ? { ...health, openUntilMs: nowMs + BREAKER_OPEN_MS, probing: true } : health;
}

/**
 * Updates the state once per attempt, when it has ended (a stream: when the stream has). A 429, a
 * refusal and a disconnected client do not affect the count of failures. Any other response resets
 * the count and closes the breaker. A cooldown only ends by its time, since a response may have
 * begun before it.
 * @param account the call's account; null if unknown
 */
export function recordOutcome(
  health: SourceHealth | undefined,
  judged: Pick<AttemptJudgment, 'step' | 'outcome' | 'coolDownMs' | 'countsAsFailure' | 'refusal'>,
  nowMs: number,
  account: string | null = null,
): SourceHealth {
  const before = health?.probing === true ? { ...health, probing: false } : (health ?? HEALTHY);
  if (judged.countsAsFailure) {
    const failures = before.failures + 1;
    const openUntilMs = failures >= BREAKER_FAILURES ? nowMs + BREAKER_OPEN_MS : before.openUntilMs;
    return { ...before, failures, openUntilMs };
  }
  if (judged.coolDownMs !== null) {
    return { ...before, coolUntilMs: Math.max(before.coolUntilMs, nowMs + judged.coolDownMs) };
  }
  if (judged.refusal === 'certain') return recordRefusal(before, nowMs);
  if (judged.refusal === 'unclear') return recordUnclearRefusal(before, nowMs, account);
  const isRepeated = judged.step === 'fresh_connection' || judged.step === 'fresh_credential';
  if (judged.outcome === 'abandoned' || isRepeated) return before;
  const { coolUntilMs, refusedUntilMs, refusals, doubts } = before;
  const rests = { ...HEALTHY, coolUntilMs, refusedUntilMs };
  if (judged.outcome !== 'completed') return { ...rests, refusals, doubts };
  return { ...rests, refusals: refusedUntilMs > nowMs ? refusals : 0 };
}

/** Resets refusals, since they do not apply to a changed entry of the source. */
export function resetRefusals(health: SourceHealth): SourceHealth {
  return { ...health, refusedUntilMs: 0, refusals: 0, doubts: [] };
}

/** Starts a cooldown. Calls that were in progress when it began do not extend it. */
function recordRefusal(before: SourceHealth, nowMs: number): SourceHealth {
  if (before.refusedUntilMs > nowMs) return before;
  const restMs = Math.min(REFUSED_MS * 2 ** before.refusals, REFUSED_MS_MAX);
  return { ...before, refusedUntilMs: nowMs + restMs, refusals: before.refusals + 1, doubts: [] };
}

function recordUnclearRefusal(before: SourceHealth, nowMs: number, account: string | null): SourceHealth {
  if (account === null || before.doubts.includes(account)) return before;
  const doubts = [...before.doubts, account];
  return doubts.length < REFUSED_ACCOUNTS ? { ...before, doubts } : recordRefusal({ ...before, doubts }, nowMs);
}
