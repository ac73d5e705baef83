import type { ClientCall, ModelOfRun } from '../evidence/evidence.js';
import type { CallPlan } from './call-plan.js';

export interface CallPlace {
  readonly account: string;
  readonly secret: string;
  readonly edgeUrl: string;
  readonly edge: number;
  readonly model: ModelOfRun;
  readonly modelId: string;
}

/**
 * The response as far as a client has read it. The client updates it while it reads, so that it is
 * also available after an error.
 */
export interface Reading {
  requestId: string | null;
  status: number | null;
  code: string | null;
  text: string;
  usage: ClientCall['usage'];
  /** The final event or the end of a plain body was read. */
  isWhole: boolean;
  hasLeft: boolean;
}

export interface ClientRequest {
  readonly plan: CallPlan;
  readonly place: CallPlace;
  readonly prompt: string;
  readonly maxTokens: number;
}

export const CALL_MS_MAX = 90_000;

/**
 * Aborts a call as planned: immediately, or halfway through the stream with
 * {@link PlannedAbort.pieceRead}.
 */
export class PlannedAbort {
  readonly signal: AbortSignal;
  readonly #plan: CallPlan;
  readonly #reading: Reading;
  readonly #abort = new AbortController();
  /**
   * Cleared when the call is over: `AbortSignal.timeout()` would keep each call in memory until the
   * timeout.
   */
  readonly #limit: NodeJS.Timeout;
  readonly #timer: NodeJS.Timeout | undefined;
  #read = 0;

  constructor(plan: CallPlan, reading: Reading) {
    this.#plan = plan;
    this.#reading = reading;
    this.signal = this.#abort.signal;
    this.#limit = setTimeout(() => this.#abort.abort(), CALL_MS_MAX);
    if (plan.leaves === 'at_once') this.#timer = setTimeout(() => this.#leave(), plan.pieceMs);
  }

  pieceRead(): void {
    this.#read += 1;
    if (this.#plan.leaves === 'midway' && this.#read * 2 >= this.#plan.pieces) this.#leave();
  }

  over(): void {
    clearTimeout(this.#limit);
    clearTimeout(this.#timer);
  }

  #leave(): void {
    this.#reading.hasLeft = true;
    this.#abort.abort();
  }
}
