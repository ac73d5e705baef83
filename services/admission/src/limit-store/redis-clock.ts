import type { StoreClock } from '../ports.js';

/**
 * Redis time between two replies: the last one, carried on by this process's monotonic clock. It
 * only prepares decisions; the scripts read the time themselves.
 */
export class RedisClock implements StoreClock {
  #ahead: number | null = null;
  #offsetMs: number;

  /** @param offsetMs shift of the test clock; 0 in production */
  constructor(offsetMs = 0) {
    this.#offsetMs = offsetMs;
  }

  now(): number {
    return this.#ahead === null ? Date.now() + this.#offsetMs : Math.floor(performance.now() + this.#ahead);
  }

  monotonic(): number {
    return performance.now();
  }

  wall(): number {
    return Date.now();
  }

  offsetMs(): number {
    return this.#offsetMs;
  }

  /** Moves the test clock of this process. */
  shift(offsetMs: number): void {
    this.#offsetMs = offsetMs;
    this.#ahead = null;
  }

  /**
   * @param redisNow time of a reply in ms; replies never lead
   * @param offsetMs the shift that it was asked for with: the test clock may have moved since
   */
  observe(redisNow: number, offsetMs: number): void {
    this.#ahead = redisNow + this.#offsetMs - offsetMs - performance.now();
  }

  /** Another server may have another clock. */
  forget(): void {
    this.#ahead = null;
  }
}
