const BASE_MS = 250;
const MAX_MS = 10_000;
/** What lived so long starts its back-off anew. */
const SETTLED_MS = 30_000;

/** The back-off of one process that is started again each time it ends. */
export class RestartDelay {
  #ends = 0;

  /** Milliseconds to wait after an end; `livedMs`: 0 for a try that did not come up. */
  next(livedMs: number): number {
    this.#ends = livedMs > SETTLED_MS ? 1 : this.#ends + 1;
    return Math.min(MAX_MS, BASE_MS * 2 ** (this.#ends - 1));
  }
}
