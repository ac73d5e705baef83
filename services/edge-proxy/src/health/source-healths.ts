import type { AttemptRecord, CatalogSource } from '@gateway/contracts/messages';
import type { AttemptJudgment } from '../errors/judge-attempt.js';
import { computeHealthRank, type HealthRank } from '../sources/remote-health.js';
import { recordAttempt, NO_FIGURES, type SourceStats } from '../sources/source-figures.js';
import {
  isCoolingDown,
  resetRefusals,
  recordOutcome,
  recordStart,
  type SourceHealth,
} from '../sources/source-order.js';
import type { RemoteHealths } from './remote-healths.js';

/** The health of a source that was tried, and the result of its last attempt. */
export interface SourceRecord {
  readonly health: SourceHealth;
  readonly lastOutcome: AttemptRecord['outcome'] | null;
  readonly lastStatus: number | null;
  /** Epoch milliseconds, or null before the first attempt has ended. */
  readonly lastAt: number | null;
  /** End of the last completed attempt, or null if there was none. */
  readonly completedAt: number | null;
  readonly figures: SourceStats;
  /** The catalog entry of the last attempt, or null if unknown. */
  readonly entry: CatalogSource | null;
}

/** The account of an attempt, and the catalog entry that it used. */
export interface AttemptOrigin {
  readonly account: string;
  readonly entry: CatalogSource;
  /** Time to the response head, or null if there was none. */
  readonly firstByteMs: number | null;
  readonly isOverQuota: boolean;
}

/**
 * The health of the sources that this edge has tried, together with the health from other edges. A
 * source without an entry counts as healthy.
 */
export class SourceHealths {
  readonly #known = new Map<string, SourceRecord>();
  readonly #coolDownChanged: () => void;
  readonly #remote: Pick<RemoteHealths, 'of'>;
  /** Sources whose breaker has opened, without a completed call at another source since then. */
  readonly #unproven = new Set<string>();

  /**
   * @param coolDownChanged called when a source enters cooldown or leaves it early, and when a
   * success elsewhere shows that an open breaker is not caused by this edge
   */
  constructor(coolDownChanged: () => void, remote: Pick<RemoteHealths, 'of'>) {
    this.#coolDownChanged = coolDownChanged;
    this.#remote = remote;
  }

  get(source: string): SourceHealth | undefined {
    return this.#known.get(source)?.health;
  }

  /** Returns the source's group in the order of attempts. */
  rank(source: string, nowMs: number): HealthRank {
    return computeHealthRank(this.#known.get(source), this.#remote.of(source), nowMs);
  }

  /** Records the start of an attempt. */
  started(source: string, nowMs: number): void {
    const known = this.#known.get(source);
    const health = recordStart(known?.health, nowMs);
    if (health !== known?.health) this.#note(source, { ...(known ?? UNTRIED), health }, nowMs);
  }

  /** Records the end of an attempt. Returns true if an operator must be notified of the source. */
  ended(source: string, judged: AttemptJudgment, nowMs: number, by: AttemptOrigin | null = null): boolean {
    const known = this.#known.get(source) ?? UNTRIED;
    const before = this.get(source);
    const health = recordOutcome(before, judged, nowMs, by?.account);
    const began = health.refusals > (before?.refusals ?? 0);
    const lastAt = Math.floor(nowMs);
    const isCompleted = judged.outcome === 'completed';
    this.#note(
      source,
      {
        health,
        lastOutcome: judged.outcome,
        lastStatus: judged.status,
        lastAt,
        completedAt: isCompleted ? lastAt : known.completedAt,
        figures: recordAttempt(
          known.figures,
          {
            isError: isSourceError(judged),
            isOverQuota: by?.isOverQuota === true,
            firstByteMs: by?.firstByteMs ?? null,
          },
          nowMs,
        ),
        entry: by?.entry ?? null,
      },
      nowMs,
    );
    if (health.openUntilMs > (before?.openUntilMs ?? 0)) this.#unproven.add(source);
    if (isCompleted) this.#completed(source);
    return judged.refusal === 'certain' || (judged.refusal === 'unclear' && began);
  }

  /**
   * Applies a catalog change. A source that refused the edge under another entry (an old
   * credential, a wrong path) may now accept it.
   */
  renew(entryOf: (source: string) => CatalogSource | undefined, nowMs: number): void {
    for (const [source, known] of this.#known) {
      if (known.entry === null || known.entry === entryOf(source)) continue;
      this.#note(source, { ...known, entry: null, health: resetRefusals(known.health) }, nowMs);
    }
  }

  /**
   * Records a successful test. Earlier failures and refusals no longer count. A cooldown from the
   * provider's rate limit stays.
   */
  tested(source: string, nowMs: number): void {
    const known = this.#known.get(source);
    if (known === undefined) return;
    this.#unproven.delete(source);
    const health = { ...resetRefusals(known.health), failures: 0, openUntilMs: 0, probing: false };
    this.#note(source, { ...known, health }, nowMs);
  }

  /** Returns the sources that `isKept` accepts, and drops the others. */
  keep(isKept: (source: string) => boolean): (readonly [source: string, known: SourceRecord])[] {
    for (const source of this.#known.keys()) if (!isKept(source)) this.#forget(source);
    return [...this.#known];
  }

  #forget(source: string): void {
    this.#known.delete(source);
    this.#unproven.delete(source);
  }

  /** Records a success: failures of other sources are not caused by this edge's network. */
  #completed(source: string): void {
    this.#unproven.delete(source);
    if (this.#unproven.size === 0) return;
    this.#unproven.clear();
    this.#coolDownChanged();
  }

  #note(source: string, known: SourceRecord, nowMs: number): void {
    const rested = isCoolingDown(this.get(source), nowMs);
    this.#known.set(source, known);
    if (isCoolingDown(known.health, nowMs) !== rested) this.#coolDownChanged();
  }
}

const UNTRIED = {
  lastOutcome: null,
  lastStatus: null,
  lastAt: null,
  completedAt: null,
  figures: NO_FIGURES,
  entry: null,
};

/** Whether the result counts toward a cooldown. Errors caused by the client do not. */
function isSourceError({ countsAsFailure, coolDownMs, refusal }: AttemptJudgment): boolean {
  return countsAsFailure || coolDownMs !== null || refusal !== null;
}
