import type { HeldBytes } from './held-bytes.js';

/** What any account may hold, however small the pool: three of the largest bodies. */
const SHARE_BYTES_MIN = 32 * 1024 * 1024;

/**
 * What each account holds of a pool while its bodies come in: none may have more than a part of it.
 */
export class AccountShares {
  readonly #pool: HeldBytes;
  readonly #part: number;
  /** As many entries at most as connections have bodies that come in. */
  readonly #held = new Map<string, number>();

  /** @param part of the pool that one account may have, 0 to 1 */
  constructor(pool: HeldBytes, part: number) {
    this.#pool = pool;
    this.#part = part;
  }

  /** Accounts that hold something. */
  get size(): number {
    return this.#held.size;
  }

  /**
   * Counts so many more of this account; false, with nothing counted, when they are more than its
   * part.
   */
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
