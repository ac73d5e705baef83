import { createHash } from 'node:crypto';
import type { Deadlines } from '../call/deadlines.js';
import type { BusClient } from '../ports.js';

/** How long a request waits for all its IDs to be looked up; then it is refused. */
export const LOOK_UP_MS = 2_000;
/** How long the last chunk of a response waits for its IDs to be stored. */
export const REMEMBER_MS = 2_000;
/** A write that failed is repeated after so long, until it is given up after the second time. */
export const RETRY_MS = 1_000;
export const WRITE_MS_MAX = 60_000;
/** IDs that wait to be stored again; when there are more, the next failed write is given up. */
export const UNSTORED_IDS_MAX = 20_000;
/** IDs of one generation in memory, about 100 bytes each; two are kept. */
const RECENT_MAX = 20_000;
/** Of a SHA-256, as base64url: 132 bits. */
const KEY_CHARS = 22;
/** How often the IDs in the store are counted, while some are stored. */
const COUNT_MS = 60_000;
/** A repetition cannot help: the store is full, or the entry invalid. */
const FINAL_CODES: ReadonlySet<string> = new Set(['stream_full', 'too_large']);

/** `look_up`: a request was refused; `remember`: a last chunk waited in vain; `lost`: given up. */
export type MemoryFailure = 'look_up' | 'remember' | 'lost';

export interface RememberedAnswersParts {
  readonly store: Pick<BusClient, 'putAnswer' | 'getAnswer' | 'confirmAnswer' | 'countAnswers'>;
  readonly deadlines: Pick<Deadlines, 'in' | 'nowMs'>;
  /** @param reason `late`, or the short code of the bus's fault */
  readonly onFailed: (what: MemoryFailure, reason: string) => void;
}

/**
 * Which account got an ID of a stored response, item or container, and from which source. All IDs
 * are in a store that the edges share, the latest in memory too. They are kept as hashes, with the
 * account, so that no account finds the IDs of another.
 */
export class RememberedAnswers {
  /** IDs in the store when they were last counted; 0 before. */
  idsStored = 0;
  readonly #parts: RememberedAnswersParts;
  #recent = new Map<string, string>();
  #before = new Map<string, string>();
  #unstored = 0;
  #countedAtMs = -Infinity;

  constructor(parts: RememberedAnswersParts) {
    this.#parts = parts;
  }

  /**
   * The sources of these IDs, up to the first one that the account did not get, which is missing.
   * Null: the store cannot be read, or does not answer within {@link LOOK_UP_MS}.
   */
  sourcesOf(account: string, ids: readonly string[]): Promise<ReadonlyMap<string, string> | null> {
    return this.#within(LOOK_UP_MS, 'look_up', this.#lookUp(account, ids));
  }

  async #lookUp(account: string, ids: readonly string[]): Promise<Map<string, string>> {
    const { store } = this.#parts;
    const read = await Promise.all(
      ids.map(async (id) => {
        const key = keyOf(account, id);
        const known = this.#recent.get(key) ?? this.#before.get(key);
        return { id, key, source: known ?? (await store.getAnswer(key)) };
      }),
    );
    const found = new Map<string, string>();
    for (const { id, key, source } of read) {
      // The server that answered may not have the latest writes. One question for each unknown ID:
      // the first one that is confirmed ends the look-up.
      const confirmed = source ?? (await store.confirmAnswer(key));
      if (confirmed === null) break;
      this.#keep(key, confirmed);
      found.set(id, confirmed);
    }
    return found;
  }

  /**
   * Resolves when the store has all of them, at the latest after {@link REMEMBER_MS}; never
   * rejects. Writes that fail are repeated for {@link WRITE_MS_MAX}.
   */
  async remember(account: string, ids: readonly string[], source: string): Promise<void> {
    const keys = ids.map((id) => keyOf(account, id));
    for (const key of keys) this.#keep(key, source);
    const untilMs = this.#parts.deadlines.nowMs() + WRITE_MS_MAX;
    await this.#within(REMEMBER_MS, 'remember', Promise.all(keys.map((key) => this.#write(key, source, untilMs))));
    this.#count();
  }

  /** Resolves when it is stored or given up. */
  async #write(key: string, source: string, untilMs: number): Promise<void> {
    const { store, deadlines, onFailed } = this.#parts;
    for (;;) {
      const code = await store.putAnswer(key, source).then(() => null, codeOf);
      if (code === null) return;
      const isLate = deadlines.nowMs() + RETRY_MS > untilMs;
      if (isLate || FINAL_CODES.has(code) || this.#unstored >= UNSTORED_IDS_MAX) return onFailed('lost', code);
      this.#unstored += 1;
      await new Promise<void>((resolve) => void deadlines.in(RETRY_MS, resolve));
      this.#unstored -= 1;
    }
  }

  #count(): void {
    const nowMs = this.#parts.deadlines.nowMs();
    if (nowMs - this.#countedAtMs < COUNT_MS) return;
    this.#countedAtMs = nowMs;
    this.#parts.store.countAnswers().then(
      (count) => (this.idsStored = count),
      // It is counted again after the same time.
      () => undefined,
    );
  }

  #keep(key: string, source: string): void {
    if (this.#recent.size >= RECENT_MAX) [this.#before, this.#recent] = [this.#recent, new Map()];
    this.#recent.set(key, source);
  }

  /** Null when it fails or takes longer. */
  #within<T>(ms: number, what: MemoryFailure, asked: Promise<T>): Promise<T | null> {
    const { deadlines, onFailed } = this.#parts;
    return new Promise((resolve) => {
      let isOver = false;
      const end = (value: T | null, reason: string | null): void => {
        if (isOver) return;
        isOver = true;
        deadline.cancel();
        if (reason !== null) onFailed(what, reason);
        resolve(value);
      };
      const deadline = deadlines.in(ms, () => end(null, 'late'));
      asked.then(
        (value) => end(value, null),
        (error: unknown) => end(null, codeOf(error)),
      );
    });
  }
}

function codeOf(error: unknown): string {
  return (error as { readonly code?: string }).code ?? 'fault';
}

function keyOf(account: string, id: string): string {
  return createHash('sha256').update(`${account}\n${id}`).digest('base64url').slice(0, KEY_CHARS);
}
