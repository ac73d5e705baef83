import type { RequestBody } from '../ports.js';
import { AccountShares } from './account-shares.js';
import { REQUEST_BODIES, UNOPENED_BODIES, type HeldBytes } from './held-bytes.js';

/** The part of the request body memory that one account may hold for arriving bodies. */
const ACCOUNT_PART = 0.25;
const NO_BYTES = Buffer.alloc(0);

/** The pools for counting bodies. */
export interface BodyPools {
  /** Bodies with a confirmed key. */
  readonly opened: HeldBytes;
  /** All other bodies. */
  readonly unopened: HeldBytes;
  readonly shares: AccountShares;
}

const POOLS: BodyPools = {
  opened: REQUEST_BODIES,
  unopened: UNOPENED_BODIES,
  shares: new AccountShares(REQUEST_BODIES, ACCOUNT_PART),
};

/** A body and the bytes that it takes from the pools. */
export class CountedBody implements RequestBody {
  bytes: Buffer = NO_BYTES;
  readonly #account: string | null;
  readonly #pools: BodyPools;
  #pool: HeldBytes;
  #held = 0;
  /** Bytes that are counted for its account while it is arriving. */
  #shared = 0;

  /** @param account the account of its key; null if the key is not confirmed yet */
  constructor(account: string | null, pools: BodyPools = POOLS) {
    this.#account = account;
    this.#pools = pools;
    this.#pool = account === null ? pools.unopened : pools.opened;
  }

  /**
   * Counts the body as this many bytes of memory, if that is more than before. Returns false if
   * they do not fit the pool or exceed the account's part.
   * @param isWhole whether the body is complete with these bytes, and so no longer arriving
   */
  growTo(bytes: number, isWhole: boolean): boolean {
    const more = bytes - this.#held;
    if (more <= 0) return true;
    if (!this.#pool.take(more)) return false;
    if (this.#account !== null && !isWhole) {
      if (!this.#pools.shares.take(this.#account, more)) {
        this.#pool.give(more);
        return false;
      }
      this.#shared += more;
    }
    this.#held += more;
    return true;
  }

  /** Stores the complete body, in memory of exactly its size. */
  complete(bytes: Buffer): void {
    this.bytes = bytes;
    this.#giveTo(bytes.length);
  }

  opened(): void {
    const { opened } = this.#pools;
    // A body that does not fit the main pool stays counted in its present pool.
    if (this.#pool === opened || !opened.take(this.#held)) return;
    this.#pool.give(this.#held);
    this.#pool = opened;
  }

  free(): void {
    this.#giveTo(0);
  }

  #giveTo(bytes: number): void {
    if (this.#shared > 0) this.#pools.shares.give(this.#account ?? '', this.#shared);
    this.#shared = 0;
    this.#pool.give(this.#held - bytes);
    this.#held = bytes;
  }
}
