import type { StoreClock } from '../ports.js';

/**
 * Estimates Redis time between two replies: the last reply's time, advanced by this process's
 * monotonic clock. The estimate only prepares decisions. The scripts read the time themselves.
 */
export class RedisClock implements StoreClock {
  #ahead: number | null = null;
  #offsetMs: number;

  /** @param offsetMs offset of the test clock; 0 in production */
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

  /** Sets the test clock of this process. */
  shift(offsetMs: number): void {
    this.#offsetMs = offsetMs;
    this.#ahead = null;
  }

  /**
   * @param redisNow time of a reply in ms, which is never later than the server's present time
   * @param offsetMs the offset in the request; the test clock may have changed since
   */
  observe(redisNow: number, offsetMs: number): void {
    this.#ahead = redisNow + this.#offsetMs - offsetMs - performance.now();
  }

  /** Another server may have a different clock. */
  forget(): void {
    this.#ahead = null;
  }
}
