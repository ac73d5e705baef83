/**
 * Calls `tick` every few milliseconds while something waits, so that a process in which nothing
 * waits is not woken. A tick comes after the poll phase: what arrived while the event loop was held
 * up counts as in time.
 */
export class OnDemandTimer {
  readonly #everyMs: number;
  readonly #waits: () => boolean;
  readonly #tick: () => void;
  #timer: NodeJS.Timeout | null = null;

  /** @param waits whether something waits; called every `everyMs` milliseconds before `tick` */
  constructor(everyMs: number, waits: () => boolean, tick: () => void) {
    this.#everyMs = everyMs;
    this.#waits = waits;
    this.#tick = tick;
  }

  /** To be called whenever something begins to wait. */
  begin(): void {
    this.#timer ??= setInterval(() => {
      if (this.#waits()) setImmediate(this.#tick);
      else this.stop();
    }, this.#everyMs).unref();
  }

  /** No further tick, until something begins to wait again. */
  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }
}
