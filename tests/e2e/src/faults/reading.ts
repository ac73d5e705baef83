import type { CallPlan } from './call-plan.js';
import type { ClientCall, ModelOfRun } from './evidence.js';

/** Whose call it is and where it goes. */
export interface CallPlace {
  readonly account: string;
  readonly secret: string;
  readonly edgeUrl: string;
  readonly edge: number;
  readonly model: ModelOfRun;
  readonly modelId: string;
}

/**
 * What a client has read so far; the client writes it as it reads, so that nothing is lost when it
 * throws.
 */
export interface Reading {
  requestId: string | null;
  status: number | null;
  code: string | null;
  text: string;
  usage: ClientCall['usage'];
  /** The final marker, or the end of a plain body, was there. */
  isWhole: boolean;
  hasLeft: boolean;
}

export interface ClientRequest {
  readonly plan: CallPlan;
  readonly place: CallPlace;
  readonly prompt: string;
  readonly maxTokens: number;
}

/** Of any call, whatever is broken. */
export const CALL_MS_MAX = 90_000;

/** Signals a client's going: at once, or in the midst of a stream by {@link Going.pieceRead}. */
export class Going {
  readonly signal: AbortSignal;
  readonly #plan: CallPlan;
  readonly #reading: Reading;
  readonly #abort = new AbortController();
  /**
   * Cleared when the call is over: a signal of its own for the time would keep each call in memory
   * until then.
   */
  readonly #limit: NodeJS.Timeout;
  readonly #timer: NodeJS.Timeout | undefined;
  #read = 0;

  constructor(plan: CallPlan, reading: Reading) {
    this.#plan = plan;
    this.#reading = reading;
    this.signal = this.#abort.signal;
    this.#limit = setTimeout(() => this.#abort.abort(), CALL_MS_MAX);
    if (plan.leaves === 'at_once') this.#timer = setTimeout(() => this.#go(), plan.pieceMs);
  }

  pieceRead(): void {
    this.#read += 1;
    if (this.#plan.leaves === 'midway' && this.#read * 2 >= this.#plan.pieces) this.#go();
  }

  over(): void {
    clearTimeout(this.#limit);
    clearTimeout(this.#timer);
  }

  #go(): void {
    this.#reading.hasLeft = true;
    this.#abort.abort();
  }
}
