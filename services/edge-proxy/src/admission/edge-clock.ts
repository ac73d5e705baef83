import type { Clock } from '@gateway/service-kit';
import type { TargetReplica } from '../ports.js';
import type { KnownReplicas } from './known-replicas.js';

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

/** Milliseconds for the first try, and for the second, which goes to another replica. */
const FIRST_MS = 500;
const SECOND_MS = 1_500;

/**
 * Sends a request a second time, to another replica, if the first try fails. If that replica has
 * left, a third try goes to any replica. Rejects when all fail.
 */
export async function requestTwice<A>(
  ask: (to: TargetReplica) => Promise<A>,
  replicas: KnownReplicas,
  monotonicMs: () => number,
): Promise<A> {
  try {
    return await ask({ replica: undefined, timeoutMs: FIRST_MS });
  } catch {
    const replica = replicas.other([], monotonicMs());
    if (replica === undefined) return ask({ replica, timeoutMs: SECOND_MS });
    return ask({ replica, timeoutMs: SECOND_MS }).catch((error: unknown) => {
      if ((error as { code?: unknown } | null)?.code !== 'no_responders') throw error;
      replicas.forget(replica);
      return ask({ replica: undefined, timeoutMs: SECOND_MS });
    });
  }
}
