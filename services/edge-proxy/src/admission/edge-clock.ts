import type { Clock } from '@gateway/service-kit';

/**
 * An answer that took longer says little about the other clock; it is used only while nothing
 * better is known.
 */
const ROUND_TRIP_MS_MAX = 500;

/**
 * Redis time as this edge knows it: the own clock, corrected by the `now` of admission's answers
 * (docs/protocol.md#r1). Ids, start and end of calls are read from it.
 */
export class EdgeClock implements Clock {
  readonly #own: Clock;
  #offsetMs = 0;
  #isCorrected = false;

  constructor(own: Clock) {
    this.#own = own;
  }

  nowMs(): number {
    return this.#own.nowMs() + this.#offsetMs;
  }

  /** `redisNowMs` is admission's `now`; `roundTripMs` the time between question and answer. */
  correct(redisNowMs: number, roundTripMs: number): void {
    if (this.#isCorrected && roundTripMs > ROUND_TRIP_MS_MAX) return;
    this.#isCorrected = true;
    this.#offsetMs = redisNowMs - this.#own.nowMs();
  }
}
