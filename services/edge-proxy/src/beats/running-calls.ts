import type { Endpoint, HoldFields } from '@gateway/contracts/messages';
import { EphemeralMap } from '@gateway/service-kit';

/** A call that holds something: it stands in every beat from its admission until its event is stored. */
export interface HeldCall {
  readonly id: string;
  readonly endpoint: Endpoint;
  readonly hold: HoldFields;
  readonly bucket: number;
  /** The gate token under which the call is held; only the verdict for a beat changes it. */
  tag: string;
  /** Ends the call from outside. Does nothing when its answer is already complete. */
  abort(why: AbortReason): void;
}

/** `verdict`: admission says so (account suspended, slot taken back). `drain`: the edge stops and the grace is over. */
export type AbortReason = 'verdict' | 'drain';

/** The calls of this edge that hold something. */
export class RunningCalls {
  readonly #calls = new EphemeralMap<string, HeldCall>();

  get size(): number {
    return this.#calls.size;
  }

  add(call: HeldCall): void {
    this.#calls.set(call.id, call);
  }

  remove(id: string): void {
    this.#calls.delete(id);
  }

  all(): HeldCall[] {
    return [...this.#calls.values()];
  }

  abort(id: string, why: AbortReason): void {
    this.#calls.get(id)?.abort(why);
  }

  abortAll(why: AbortReason): void {
    for (const call of this.all()) call.abort(why);
  }
}
