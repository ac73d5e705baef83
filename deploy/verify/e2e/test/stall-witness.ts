import { setTimeout as delay } from 'node:timers/promises';
import { isUndecided } from './decided.js';
import { connectRedis } from './limit-store.js';

const EVERY_MS = 100;
const STILL_MS = 1_000;

/** A call as its client saw it; times in epoch milliseconds. */
export interface WitnessedCall {
  readonly status: number | null;
  /** Its code, or all of its body. */
  readonly text: string;
  readonly begunAt: number;
  readonly endedAt: number;
}

/**
 * Times itself ten times a second, and Redis if it is given: where one of them waited for a second
 * the machine stood still, and what nobody decided meanwhile is no fault of the product. For tests
 * that harm neither of them.
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

  /** Whether nobody decided the call, and it met such a time. */
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
