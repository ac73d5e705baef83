import { createHash } from 'node:crypto';
import type { Deadlines } from '../call/deadlines.js';
import type { BusClient } from '../ports.js';

/** Timeout for looking up all IDs of a request. After it the request is refused. */
export const LOOK_UP_MS = 2_000;
/** Maximum wait of a response's last chunk for its IDs to be stored. */
export const REMEMBER_MS = 2_000;
/** Interval between retries of a failed write, and the time limit for all retries. */
export const RETRY_MS = 1_000;
export const WRITE_MS_MAX = 60_000;
/** Maximum number of IDs that wait for a retry. At this number, failed writes are not retried. */
export const UNSTORED_IDS_MAX = 20_000;
/**
 * Maximum number of IDs in one in-memory generation, about 100 bytes each. Two generations are
 * kept.
 */
const RECENT_MAX = 20_000;
/** Length of a key: 132 bits of a SHA-256, as base64url. */
const KEY_CHARS = 22;
/** Minimum interval between counts of the stored IDs. They are counted after a write. */
const COUNT_MS = 60_000;
/** Error codes that a retry cannot fix: the store is full, or the entry invalid. */
const FINAL_CODES: ReadonlySet<string> = new Set(['stream_full', 'too_large']);

/**
 * `lookup`: a request was refused. `store`: a last chunk waited too long. `lost`: an ID is lost.
 */
export type StoredIdFailure = 'lookup' | 'store' | 'lost';

export interface StoredIdCacheOptions {
  readonly store: Pick<BusClient, 'putAnswer' | 'getAnswer' | 'confirmAnswer' | 'countAnswers'>;
  readonly deadlines: Pick<Deadlines, 'in' | 'nowMs'>;
  /** @param reason `late`, or the short code of the bus error */
  readonly onFailed: (what: StoredIdFailure, reason: string) => void;
}

/**
 * Stores the account and the source of each ID of a stored response, item or container. All IDs are
 * in a store that the edges share; the latest are also in memory. They are stored as hashes that
 * include the account, so that no account finds the IDs of another.
 */
export class StoredIdCache {
  /** Number of IDs in the store at the last count; 0 before the first count. */
  idsStored = 0;
  readonly #parts: StoredIdCacheOptions;
  #recent = new Map<string, string>();
  #before = new Map<string, string>();
  #unstored = 0;
  #countedAtMs = -Infinity;

  constructor(parts: StoredIdCacheOptions) {
    this.#parts = parts;
  }

  /**
   * Returns the sources of these IDs, up to the first ID that the account did not receive. Returns
   * null if the store cannot be read, or does not respond within {@link LOOK_UP_MS}.
   */
  sourcesOf(account: string, ids: readonly string[]): Promise<ReadonlyMap<string, string> | null> {
    return this.#within(LOOK_UP_MS, 'lookup', this.#lookUp(account, ids));
  }

  async #lookUp(account: string, ids: readonly string[]): Promise<Map<string, string>> {
    const { store } = this.#parts;
    const read = await Promise.all(
      ids.map(async (id) => {
        const key = hashKey(account, id);
        const known = this.#recent.get(key) ?? this.#before.get(key);
        return { id, key, source: known ?? (await store.getAnswer(key)) };
      }),
    );
    const found = new Map<string, string>();
    for (const { id, key, source } of read) {
      // The server that responded may not have the latest writes, so the leader is queried for each
      // unknown ID. The first ID that is unknown there too ends the lookup.
      const confirmed = source ?? (await store.confirmAnswer(key));
      if (confirmed === null) break;
      this.#keep(key, confirmed);
      found.set(id, confirmed);
    }
    return found;
  }

  /**
   * Resolves when the store has all of the IDs, or after {@link REMEMBER_MS}; never rejects. Failed
   * writes are retried for {@link WRITE_MS_MAX}.
   */
  async remember(account: string, ids: readonly string[], source: string): Promise<void> {
    const keys = ids.map((id) => hashKey(account, id));
    for (const key of keys) this.#keep(key, source);
    const untilMs = this.#parts.deadlines.nowMs() + WRITE_MS_MAX;
    await this.#within(REMEMBER_MS, 'store', Promise.all(keys.map((key) => this.#write(key, source, untilMs))));
    this.#count();
  }

  /** Resolves when the ID is stored, or when the write has failed for WRITE_MS_MAX. */
  async #write(key: string, source: string, untilMs: number): Promise<void> {
    const { store, deadlines, onFailed } = this.#parts;
    for (;;) {
      const code = await store.putAnswer(key, source).then(() => null, readErrorCode);
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
      // The next count follows after the same interval.
      () => undefined,
    );
  }

  #keep(key: string, source: string): void {
    if (this.#recent.size >= RECENT_MAX) [this.#before, this.#recent] = [this.#recent, new Map()];
    this.#recent.set(key, source);
  }

  /** Returns null if the promise rejects or takes longer. */
  #within<T>(ms: number, what: StoredIdFailure, asked: Promise<T>): Promise<T | null> {
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
        (error: unknown) => end(null, readErrorCode(error)),
      );
    });
  }
}

function readErrorCode(error: unknown): string {
  return (error as { readonly code?: string }).code ?? 'fault';
}

function hashKey(account: string, id: string): string {
  return createHash('sha256').update(`${account}\n${id}`).digest('base64url').slice(0, KEY_CHARS);
}
