import type { Clock } from '@gateway/service-kit';
import type { TargetReplica } from '../ports.js';
import type { KnownReplicas } from './known-replicas.js';

/**
 * Longest round trip of a reply whose time corrects the clock precisely. A slower reply corrects it
 * only until the first quick one.
 */
const ROUND_TRIP_MS_MAX = 500;

/**
 * The Redis time as this edge knows it: the local clock, corrected by the `now` of admission's
 * answers (docs/protocol.md#r1). IDs, starts and ends of calls use it.
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

  /** Takes admission's `now`, and the time between request and answer. */
  correct(redisNowMs: number, roundTripMs: number): void {
    if (this.#isCorrected && roundTripMs > ROUND_TRIP_MS_MAX) return;
    this.#isCorrected = true;
    this.#offsetMs = redisNowMs - this.#own.nowMs();
  }
}

/** Timeouts in milliseconds for the first attempt, and for the second one, at another replica. */
const FIRST_MS = 500;
const SECOND_MS = 1_500;

/**
 * Sends a request again, to another replica, if the first attempt fails. If that replica has left,
 * a third attempt goes to any replica. Rejects if all attempts fail.
 */
export async function requestWithRetry<A>(
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
