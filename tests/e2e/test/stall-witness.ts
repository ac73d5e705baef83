import { setTimeout as delay } from 'node:timers/promises';
import { isUndecided } from './decided.js';
import { connectRedis } from './limit-store.js';

const EVERY_MS = 100;
const STILL_MS = 1_000;

/** A call as its client saw it. Times are epoch milliseconds. */
export interface WitnessedCall {
  readonly status: number | null;
  /** The error code, or the complete body. */
  readonly text: string;
  readonly begunAt: number;
  readonly endedAt: number;
}

/**
 * Measures its own delays, and those of Redis if given, ten times a second. A wait of a second
 * shows that the machine stalled, so requests that were not decided meanwhile are not a fault of
 * the product. For tests that do not disturb either of them.
 */
export class StallWitness {
  readonly #redis;
  readonly #waits: { readonly from: number; readonly until: number }[] = [];
  readonly #watching: Promise<void>;
  #since = Date.now();
  #isOver = false;

  constructor(redisUrl: string | null) {
    this.#redis = redisUrl === null ? null : connectRedis(redisUrl);
    this.#watching = this.#watch();
  }

  /** Whether the call was not decided and overlaps a stall. */
  excuses({ status, text, begunAt, endedAt }: WitnessedCall): boolean {
    const waits = [...this.#waits, { from: this.#since, until: Date.now() }];
    const met = waits.filter(({ from, until }) => from < endedAt && until > begunAt);
    return isUndecided({ status, text }) && met.some(({ from, until }) => until - from >= STILL_MS + EVERY_MS);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#watching;
    this.#redis?.disconnect();
  }

  async #watch(): Promise<void> {
    while (!this.#isOver) {
      this.#since = Date.now();
      await this.#redis?.ping().catch(() => undefined);
      await delay(EVERY_MS);
      const wait = { from: this.#since, until: Date.now() };
      if (wait.until - wait.from >= STILL_MS + EVERY_MS) this.#waits.push(wait);
    }
  }
}
