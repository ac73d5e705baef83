import { SOURCES_PER_MODEL_MAX } from '@gateway/contracts/messages';
import type { CatalogSource } from '@gateway/contracts/messages';
import { affinityDraw, type AffinityKey } from '../parse/affinity.js';
import type { JudgedAttempt } from '../errors/judge-attempt.js';

/**
 * Failures in a row that open a source's breaker, and how long it stays open
 * (docs/behaviour.md#source-order).
 */
export const BREAKER_FAILURES = 5;
export const BREAKER_OPEN_MS = 30_000;
/**
 * First rest of a source that cannot serve us; each further refusal after a rest doubles it, up to
 * the longest.
 */
export const REFUSED_MS = 30_000;
export const REFUSED_MS_MAX = 600_000;
/**
 * Accounts that have to meet a refusal which one of them could have caused. No more are remembered
 * of a source.
 */
export const REFUSED_ACCOUNTS = 3;

/** What an edge remembers of a source. None: nothing bad. */
export interface SourceHealth {
  /** In a row. */
  readonly failures: number;
  /** Rests until then (429); 0: does not. */
  readonly coolUntilMs: number;
  /** The breaker is open until then; 0: closed. */
  readonly openUntilMs: number;
  /** It cannot serve us, and rests until then; 0: it can. */
  readonly refusedUntilMs: number;
  /** A call probes it after an open breaker's time. */
  readonly probing: boolean;
  /** Rests of that kind in a row. */
  readonly refusals: number;
  /** Accounts that met a refusal which one of them could have caused, since its last answer. */
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
 * The sources in the order in which they are tried (docs/behaviour.md#source-order): by priority,
 * the lowest first, and by weighted rendezvous hash of the key within it; of a higher rank later,
 * in the same order; at most `SOURCES_PER_MODEL_MAX`. A key always has the same order. Without one
 * of its sources the others keep theirs, and over many keys each source is first as often as its
 * weight says.
 * @param sources enabled ones that serve the endpoint
 * @param rankOf how ill a source is: see `restRank`
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
    draw: ofKey === null ? 0 : -Math.log(affinityDraw(ofKey, source.id)) / source.weight,
  }));
  drawn.sort(
    (one, other) => one.rank - other.rank || one.source.priority - other.source.priority || one.draw - other.draw,
  );
  return drawn.slice(0, SOURCES_PER_MODEL_MAX).map(({ source }) => source);
}

/**
 * Whether a source is cooling down, its breaker is open, or it cannot serve us: it is tried last.
 */
export function isResting(health: SourceHealth | undefined, nowMs: number): boolean {
  if (health === undefined) return false;
  return health.coolUntilMs > nowMs || health.openUntilMs > nowMs || health.refusedUntilMs > nowMs;
}

/**
 * To be noted when an attempt starts. The first one after an open breaker's time is the probe: it
 * opens the breaker for another while, so that no second call probes beside it, and its success
 * closes it.
 */
export function noteStart(health: SourceHealth | undefined, nowMs: number): SourceHealth {
  if (health === undefined) return HEALTHY;
  const isProbe = health.openUntilMs > 0 && health.openUntilMs <= nowMs;
  return isProbe ? { ...health, openUntilMs: nowMs + BREAKER_OPEN_MS, probing: true } : health;
}

/**
 * To be noted once per attempt, when it has ended (a stream: when the stream has). A 429, a refusal
 * and a client that left say nothing of the source's failures; any other answer ends the row and
 * closes the breaker. A rest ends by its time alone: an answer that began before it is no word
 * against it.
 * @param account whose call it was; null: it is not known
 */
export function noteOutcome(
  health: SourceHealth | undefined,
  judged: Pick<JudgedAttempt, 'step' | 'outcome' | 'coolDownMs' | 'countsAsFailure' | 'refusal'>,
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
  if (judged.refusal === 'certain') return refused(before, nowMs);
  if (judged.refusal === 'unclear') return doubted(before, nowMs, account);
  const isRepeated = judged.step === 'fresh_connection' || judged.step === 'fresh_credential';
  if (judged.outcome === 'abandoned' || isRepeated) return before;
  const { coolUntilMs, refusedUntilMs, refusals, doubts } = before;
  const rests = { ...HEALTHY, coolUntilMs, refusedUntilMs };
  if (judged.outcome !== 'completed') return { ...rests, refusals, doubts };
  return { ...rests, refusals: refusedUntilMs > nowMs ? refusals : 0 };
}

/** What was refused under an earlier entry of the source says nothing of this one. */
export function noteNewEntry(health: SourceHealth): SourceHealth {
  return { ...health, refusedUntilMs: 0, refusals: 0, doubts: [] };
}

/** Calls that were under way when the rest began do not lengthen it. */
function refused(before: SourceHealth, nowMs: number): SourceHealth {
  if (before.refusedUntilMs > nowMs) return before;
  const restMs = Math.min(REFUSED_MS * 2 ** before.refusals, REFUSED_MS_MAX);
  return { ...before, refusedUntilMs: nowMs + restMs, refusals: before.refusals + 1, doubts: [] };
}

function doubted(before: SourceHealth, nowMs: number, account: string | null): SourceHealth {
  if (account === null || before.doubts.includes(account)) return before;
  const doubts = [...before.doubts, account];
  return doubts.length < REFUSED_ACCOUNTS ? { ...before, doubts } : refused({ ...before, doubts }, nowMs);
}
