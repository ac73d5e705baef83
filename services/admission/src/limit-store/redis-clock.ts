import { systemClock, type TimerClock } from '@gateway/service-kit';
import type { StoreClock } from '../ports.js';

/**
 * Estimates Redis time between two replies: the last reply's time, advanced by this process's
 * monotonic clock. The estimate only prepares decisions. The scripts read the time themselves.
 */
export class RedisClock implements StoreClock {
  readonly timers: TimerClock;
  #ahead: number | null = null;
  #offsetMs: number;

  /** @param offsetMs offset of the test clock; 0 in production */
  constructor(offsetMs = 0, timers = systemClock) {
    this.#offsetMs = offsetMs;
    this.timers = timers;
  }

  now(): number {
    return this.#ahead === null
      ? this.timers.nowMs() + this.#offsetMs
      : Math.floor(this.timers.monotonicMs() + this.#ahead);
  }

  monotonic(): number {
    return this.timers.monotonicMs();
  }

  wall(): number {
    return this.timers.nowMs();
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
    this.#ahead = redisNow + this.#offsetMs - offsetMs - this.timers.monotonicMs();
  }

  /** Another server may have a different clock. */
  forget(): void {
    this.#ahead = null;
  }
}
