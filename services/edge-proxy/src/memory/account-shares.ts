import type { HeldBytes } from './held-bytes.js';

/** Bytes that any account may hold, however small the pool: three of the largest bodies. */
const SHARE_BYTES_MIN = 32 * 1024 * 1024;

/** The pool bytes of each account's arriving bodies. No account may exceed its part. */
export class AccountShares {
  readonly #pool: HeldBytes;
  readonly #part: number;
  /** At most one entry per connection with an arriving body. */
  readonly #held = new Map<string, number>();

  /** @param part of the pool that one account may hold, 0 to 1 */
  constructor(pool: HeldBytes, part: number) {
    this.#pool = pool;
    this.#part = part;
  }

  /** Number of accounts that hold bytes. */
  get size(): number {
    return this.#held.size;
  }

  /** Counts more bytes for an account. Returns false and counts nothing if they exceed its part. */
  take(account: string, bytes: number): boolean {
    const held = (this.#held.get(account) ?? 0) + bytes;
    if (held > Math.max(SHARE_BYTES_MIN, this.#pool.bytesMax * this.#part)) return false;
    this.#held.set(account, held);
    return true;
  }

  give(account: string, bytes: number): void {
    const held = (this.#held.get(account) ?? 0) - bytes;
    if (held > 0) this.#held.set(account, held);
    else this.#held.delete(account);
  }
}
