/**
 * A look at everything that waits, every few milliseconds, for as long as something does: a process that waits for nothing is
 * not woken. It comes after the poll phase, so that what arrived while the event loop was held up counts as in time.
 */
export class WaitingSweep {
  readonly #everyMs: number;
  readonly #waits: () => boolean;
  readonly #sweep: () => void;
  #timer: NodeJS.Timeout | null = null;

  /** @param waits whether something waits; asked every `everyMs` milliseconds before `sweep` */
  constructor(everyMs: number, waits: () => boolean, sweep: () => void) {
    this.#everyMs = everyMs;
    this.#waits = waits;
    this.#sweep = sweep;
  }

  /** To be called whenever something begins to wait. */
  begin(): void {
    this.#timer ??= setInterval(() => this.#tick(), this.#everyMs).unref();
  }

  /** No further look, until something begins to wait again. */
  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #tick(): void {
    if (this.#waits()) setImmediate(this.#sweep);
    else this.stop();
  }
}
