import { createHash } from 'node:crypto';
import type { Deadlines } from '../call/deadlines.js';
import type { BusClient } from '../ports.js';

/**
 * So long a call waits for the shared store to tell a source, and an answer's last piece for it to
 * take one.
 */
export const LOOK_UP_MS = 300;
export const REMEMBER_MS = 300;
/** Answers of one generation in memory; two are kept. */
const RECENT_MAX = 5_000;
/** Of a SHA-256, as base64url: 132 bits. */
const KEY_CHARS = 22;

export interface RememberedAnswersParts {
  readonly store: Pick<BusClient, 'putAnswer' | 'getAnswer'>;
  readonly deadlines: Pick<Deadlines, 'in'>;
  /** @param reason `late`, or the short code of the bus's fault */
  readonly onFailed: (what: 'look_up' | 'remember', reason: string) => void;
}

/**
 * Which source gave an answer that is stored at its provider. The latest are in memory, all in a
 * store that the edges share; ids are kept as hashes, with the account, so that nobody finds the
 * answers of another.
 */
export class RememberedAnswers {
  readonly #parts: RememberedAnswersParts;
  #recent = new Map<string, string>();
  #before = new Map<string, string>();

  constructor(parts: RememberedAnswersParts) {
    this.#parts = parts;
  }

  /** Its source; null: nobody knows, or the store does not say within {@link LOOK_UP_MS}. */
  async sourceOf(account: string, answer: string): Promise<string | null> {
    const key = keyOf(account, answer);
    const known = this.#recent.get(key) ?? this.#before.get(key);
    if (known !== undefined) return known;
    const found = await this.#within(LOOK_UP_MS, 'look_up', this.#parts.store.getAnswer(key));
    if (found === null) return null;
    this.#keep(key, found);
    return found;
  }

  /** Resolves when the store has it, at the latest after {@link REMEMBER_MS}; never rejects. */
  async remember(account: string, answer: string, source: string): Promise<void> {
    const key = keyOf(account, answer);
    this.#keep(key, source);
    await this.#within(REMEMBER_MS, 'remember', this.#parts.store.putAnswer(key, source));
  }

  #keep(key: string, source: string): void {
    if (this.#recent.size >= RECENT_MAX) [this.#before, this.#recent] = [this.#recent, new Map()];
    this.#recent.set(key, source);
  }

  /** Null when it fails or takes longer. */
  #within<T>(ms: number, what: 'look_up' | 'remember', asked: Promise<T>): Promise<T | null> {
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
        (error: { readonly code?: string }) => end(null, error.code ?? 'fault'),
      );
    });
  }
}

function keyOf(account: string, answer: string): string {
  return createHash('sha256').update(`${account}\n${answer}`).digest('base64url').slice(0, KEY_CHARS);
}
