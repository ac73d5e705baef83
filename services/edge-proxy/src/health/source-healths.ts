import type { AttemptRecord, CatalogSource } from '@gateway/contracts/messages';
import type { JudgedAttempt } from '../errors/judge-attempt.js';
import { restRank, type RestRank } from '../sources/remote-health.js';
import { noteAttempt, NO_FIGURES, type SourceFigures } from '../sources/source-figures.js';
import { isResting, noteNewEntry, noteOutcome, noteStart, type SourceHealth } from '../sources/source-order.js';
import type { RemoteHealths } from './remote-healths.js';

/** What is remembered of a source that was tried, and how its last attempt ended. */
export interface KnownSource {
  readonly health: SourceHealth;
  readonly lastOutcome: AttemptRecord['outcome'] | null;
  readonly lastStatus: number | null;
  /** Epoch milliseconds, null before the first attempt has ended. */
  readonly lastAt: number | null;
  /** When the last attempt that was answered in full ended; null: none was. */
  readonly completedAt: number | null;
  readonly figures: SourceFigures;
  /** The source's entry by which it was tried last; null: not known. */
  readonly entry: CatalogSource | null;
}

/** Whose call an attempt was, and by which entry of its source. */
export interface TriedBy {
  readonly account: string;
  readonly entry: CatalogSource;
  /** To the head of its answer; null: there was none. */
  readonly firstByteMs: number | null;
  readonly isOverQuota: boolean;
}

/**
 * What this edge remembers of the sources that it has tried, beside what others say. An unknown one
 * has shown nothing bad.
 */
export class SourceHealths {
  readonly #known = new Map<string, KnownSource>();
  readonly #coolDownChanged: () => void;
  readonly #remote: Pick<RemoteHealths, 'of'>;
  /** Their breaker has opened, and no call was completed elsewhere since. */
  readonly #unproven = new Set<string>();

  /**
   * @param coolDownChanged called when a source begins to rest, or rests no longer before its time,
   * and when it shows that an open breaker is no fault of this edge
   */
  constructor(coolDownChanged: () => void, remote: Pick<RemoteHealths, 'of'>) {
    this.#coolDownChanged = coolDownChanged;
    this.#remote = remote;
  }

  get(source: string): SourceHealth | undefined {
    return this.#known.get(source)?.health;
  }

  /** In which group it is tried. */
  rank(source: string, nowMs: number): RestRank {
    return restRank(this.#known.get(source), this.#remote.of(source), nowMs);
  }

  /** An attempt starts. */
  started(source: string, nowMs: number): void {
    const known = this.#known.get(source);
    const health = noteStart(known?.health, nowMs);
    if (health !== known?.health) this.#note(source, { ...(known ?? UNTRIED), health }, nowMs);
  }

  /**
   * An attempt has ended. True: the source cannot serve us, and its operator is to be told.
   */
  ended(source: string, judged: JudgedAttempt, nowMs: number, by: TriedBy | null = null): boolean {
    const known = this.#known.get(source) ?? UNTRIED;
    const before = this.get(source);
    const health = noteOutcome(before, judged, nowMs, by?.account);
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
        figures: noteAttempt(
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
   * The catalog has changed: a source that refused us under another entry (a new credential, a
   * mended path) may serve us now.
   */
  renew(entryOf: (source: string) => CatalogSource | undefined, nowMs: number): void {
    for (const [source, known] of this.#known) {
      if (known.entry === null || known.entry === entryOf(source)) continue;
      this.#note(source, { ...known, entry: null, health: noteNewEntry(known.health) }, nowMs);
    }
  }

  /**
   * A test of the source was answered in full: it serves us, and neither failures nor refusals from
   * before count any more. What its provider limits goes on resting.
   */
  tested(source: string, nowMs: number): void {
    const known = this.#known.get(source);
    if (known === undefined) return;
    this.#unproven.delete(source);
    const health = { ...noteNewEntry(known.health), failures: 0, openUntilMs: 0, probing: false };
    this.#note(source, { ...known, health }, nowMs);
  }

  /** Forgets those that `isKept` does not want, and gives the others. */
  keep(isKept: (source: string) => boolean): (readonly [source: string, known: KnownSource])[] {
    for (const source of this.#known.keys()) if (!isKept(source)) this.#forget(source);
    return [...this.#known];
  }

  #forget(source: string): void {
    this.#known.delete(source);
    this.#unproven.delete(source);
  }

  /** What could not be reached is not beyond this edge's own way out. */
  #completed(source: string): void {
    this.#unproven.delete(source);
    if (this.#unproven.size === 0) return;
    this.#unproven.clear();
    this.#coolDownChanged();
  }

  #note(source: string, known: KnownSource, nowMs: number): void {
    const rested = isResting(this.get(source), nowMs);
    this.#known.set(source, known);
    if (isResting(known.health, nowMs) !== rested) this.#coolDownChanged();
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

/** It rests the source, or counts toward that: what a client caused does not. */
function isSourceError({ countsAsFailure, coolDownMs, refusal }: JudgedAttempt): boolean {
  return countsAsFailure || coolDownMs !== null || refusal !== null;
}
