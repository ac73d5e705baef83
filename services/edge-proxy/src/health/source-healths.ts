import type { AttemptRecord } from '@gateway/contracts/messages';
import type { JudgedAttempt } from '../domain/judge-attempt.js';
import { isResting, noteOutcome, noteStart, type SourceHealth } from '../domain/source-order.js';

/** What is remembered of a source that was tried, and how its last attempt ended. */
export interface KnownSource {
  readonly health: SourceHealth;
  readonly lastOutcome: AttemptRecord['outcome'] | null;
  readonly lastStatus: number | null;
  /** Epoch milliseconds, null before the first attempt has ended. */
  readonly lastAt: number | null;
}

/** What this edge remembers of the sources that it has tried. An unknown one has shown nothing bad. */
export class SourceHealths {
  readonly #known = new Map<string, KnownSource>();
  readonly #restChanged: () => void;

  /** @param restChanged called when a source begins to rest, or rests no longer before its time */
  constructor(restChanged: () => void) {
    this.#restChanged = restChanged;
  }

  get(source: string): SourceHealth | undefined {
    return this.#known.get(source)?.health;
  }

  /** An attempt starts. */
  started(source: string, nowMs: number): void {
    const known = this.#known.get(source);
    const health = noteStart(known?.health, nowMs);
    if (health !== known?.health) this.#note(source, { ...(known ?? UNTRIED), health }, nowMs);
  }

  /**
   * An attempt has ended. True: the source cannot serve us, and its operator is to be told.
   * @param account whose call it was; null: it is not known
   */
  ended(source: string, judged: JudgedAttempt, nowMs: number, account: string | null = null): boolean {
    const before = this.get(source);
    const health = noteOutcome(before, judged, nowMs, account);
    const began = health.refusals > (before?.refusals ?? 0);
    this.#note(
      source,
      { health, lastOutcome: judged.outcome, lastStatus: judged.status, lastAt: Math.floor(nowMs) },
      nowMs,
    );
    return judged.refusal === 'certain' || (judged.refusal === 'unclear' && began);
  }

  /** Forgets those that `isKept` does not want, and gives the others. */
  keep(isKept: (source: string) => boolean): (readonly [source: string, known: KnownSource])[] {
    for (const source of this.#known.keys()) if (!isKept(source)) this.#known.delete(source);
    return [...this.#known];
  }

  #note(source: string, known: KnownSource, nowMs: number): void {
    const rested = isResting(this.get(source), nowMs);
    this.#known.set(source, known);
    if (isResting(known.health, nowMs) !== rested) this.#restChanged();
  }
}

const UNTRIED = { lastOutcome: null, lastStatus: null, lastAt: null };
