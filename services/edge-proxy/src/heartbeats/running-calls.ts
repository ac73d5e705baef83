import type { Endpoint, HoldFields } from '@gateway/contracts/messages';
import { EphemeralMap } from '@gateway/service-kit';

/** A call with a hold. Every heartbeat lists it from its admission until its event is stored. */
export interface CallWithHold {
  readonly id: string;
  readonly endpoint: Endpoint;
  readonly hold: HoldFields;
  readonly bucket: number;
  /** The call epoch. Only a heartbeat reply changes it. */
  callEpoch: string;
  /** Ends the call. Does nothing if its response is already complete. */
  abort(why: AbortReason): void;
}

/**
 * `admission`: admission ends the call (account suspended, slot taken back).
 * `drain`: the edge stops and its drain time is over.
 */
export type AbortReason = 'admission' | 'drain';

/** The calls of this edge that have a hold. */
export class RunningCalls {
  readonly #calls = new EphemeralMap<string, CallWithHold>();
  /** Why all calls were ended, or null while calls may run. */
  #abortedAll: AbortReason | null = null;

  get size(): number {
    return this.#calls.size;
  }

  add(call: CallWithHold): void {
    this.#calls.set(call.id, call);
    if (this.#abortedAll !== null) call.abort(this.#abortedAll);
  }

  remove(id: string): void {
    this.#calls.delete(id);
  }

  all(): CallWithHold[] {
    return [...this.#calls.values()];
  }

  abort(id: string, why: AbortReason): void {
    this.#calls.get(id)?.abort(why);
  }

  /** Ends all running calls, and each call that is added later. */
  abortAll(why: AbortReason): void {
    this.#abortedAll = why;
    for (const call of this.all()) call.abort(why);
  }
}
