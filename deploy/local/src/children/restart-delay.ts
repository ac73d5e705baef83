const BASE_MS = 250;
const MAX_MS = 10_000;
/** A process that ran longer than this restarts with the shortest delay. */
const SETTLED_MS = 30_000;

/** The back-off of one process that is restarted each time it ends. */
export class RestartDelay {
  #ends = 0;

  /** Returns the delay after an end in ms. `livedMs` is 0 if the process was never ready. */
  next(livedMs: number): number {
    this.#ends = livedMs > SETTLED_MS ? 1 : this.#ends + 1;
    return Math.min(MAX_MS, BASE_MS * 2 ** (this.#ends - 1));
  }
}
