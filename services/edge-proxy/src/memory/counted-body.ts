import type { RequestBody } from '../ports.js';
import { AccountShares } from './account-shares.js';
import { REQUEST_BODIES, UNOPENED_BODIES, type HeldBytes } from './held-bytes.js';

/** Of what request bodies may take, one account may have so much while they come in. */
const ACCOUNT_PART = 0.25;
const NO_BYTES = Buffer.alloc(0);

/** Where bodies are counted. */
export interface BodyPools {
  /** Those that came with a confirmed key. */
  readonly opened: HeldBytes;
  /** Those of everybody else. */
  readonly unopened: HeldBytes;
  readonly shares: AccountShares;
}

const POOLS: BodyPools = {
  opened: REQUEST_BODIES,
  unopened: UNOPENED_BODIES,
  shares: new AccountShares(REQUEST_BODIES, ACCOUNT_PART),
};

/** A body and what it takes of the pools. */
export class CountedBody implements RequestBody {
  bytes: Buffer = NO_BYTES;
  readonly #account: string | null;
  readonly #pools: BodyPools;
  #pool: HeldBytes;
  #held = 0;
  /** What is counted as its account's, while it comes in. */
  #shared = 0;

  /** @param account whose it is; null: not confirmed yet */
  constructor(account: string | null, pools: BodyPools = POOLS) {
    this.#account = account;
    this.#pools = pools;
    this.#pool = account === null ? pools.unopened : pools.opened;
  }

  /**
   * Counts it as so many bytes of memory, if that is more than before; false when they do not fit,
   * or are more than one account may have.
   * @param isWhole it is complete with them: it is not one that is still coming in
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

  /** All of it has come, in memory of its size. */
  complete(bytes: Buffer): void {
    this.bytes = bytes;
    this.#giveTo(bytes.length);
  }

  opened(): void {
    const { opened } = this.#pools;
    // One that does not fit there stays where it is counted.
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
