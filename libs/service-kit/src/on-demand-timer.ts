/**
 * Calls `tick` every few milliseconds while something waits, so that an idle process is not woken.
 * A tick runs after the poll phase: data that arrived while the event loop was blocked counts as in
 * time.
 */
export class OnDemandTimer {
  readonly #everyMs: number;
  readonly #waits: () => boolean;
  readonly #tick: () => void;
  #timer: NodeJS.Timeout | null = null;

  /** @param waits reports whether something waits; called before each `tick` */
  constructor(everyMs: number, waits: () => boolean, tick: () => void) {
    this.#everyMs = everyMs;
    this.#waits = waits;
    this.#tick = tick;
  }

  /** Must be called whenever something begins to wait. */
  begin(): void {
    this.#timer ??= setInterval(() => {
      if (this.#waits()) setImmediate(this.#tick);
      else this.stop();
    }, this.#everyMs).unref();
  }

  /** Stops the ticks until something begins to wait again. */
  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }
}
