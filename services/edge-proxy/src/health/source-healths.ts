import type { AttemptRecord, CatalogSource } from '@gateway/contracts/messages';
import type { JudgedAttempt } from '../domain/judge-attempt.js';
import { isResting, noteNewEntry, noteOutcome, noteStart, type SourceHealth } from '../domain/source-order.js';

/** What is remembered of a source that was tried, and how its last attempt ended. */
export interface KnownSource {
  readonly health: SourceHealth;
  readonly lastOutcome: AttemptRecord['outcome'] | null;
  readonly lastStatus: number | null;
  /** Epoch milliseconds, null before the first attempt has ended. */
  readonly lastAt: number | null;
  /** The source's entry by which it was tried last; null: not known. */
  readonly entry: CatalogSource | null;
}

/** Whose call an attempt was, and by which entry of its source. */
export interface TriedBy {
  readonly account: string;
  readonly entry: CatalogSource;
}

/**
 * What this edge remembers of the sources that it has tried. An unknown one has shown nothing bad.
 */
export class SourceHealths {
  readonly #known = new Map<string, KnownSource>();
  readonly #coolDownChanged: () => void;

  /** @param restChanged called when a source begins to rest, or rests no longer before its time */
  constructor(coolDownChanged: () => void) {
    this.#coolDownChanged = coolDownChanged;
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
   */
  ended(source: string, judged: JudgedAttempt, nowMs: number, by: TriedBy | null = null): boolean {
    const before = this.get(source);
    const health = noteOutcome(before, judged, nowMs, by?.account);
    const began = health.refusals > (before?.refusals ?? 0);
    this.#note(
      source,
      {
        health,
        lastOutcome: judged.outcome,
        lastStatus: judged.status,
        lastAt: Math.floor(nowMs),
        entry: by?.entry ?? null,
      },
      nowMs,
    );
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

  /** Forgets those that `isKept` does not want, and gives the others. */
  keep(isKept: (source: string) => boolean): (readonly [source: string, known: KnownSource])[] {
    for (const source of this.#known.keys()) if (!isKept(source)) this.#known.delete(source);
    return [...this.#known];
  }

  #note(source: string, known: KnownSource, nowMs: number): void {
    const rested = isResting(this.get(source), nowMs);
    this.#known.set(source, known);
    if (isResting(known.health, nowMs) !== rested) this.#coolDownChanged();
  }
}

const UNTRIED = { lastOutcome: null, lastStatus: null, lastAt: null, entry: null };
