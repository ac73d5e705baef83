import { systemClock, type Timer, type TimerClock } from './clock.js';

/**
 * Calls `tick` every few milliseconds while something waits, so that an idle process is not woken.
 * A tick runs after the poll phase: data that arrived while the event loop was blocked counts as in
 * time.
 */
export class OnDemandTimer {
  readonly #everyMs: number;
  readonly #waits: () => boolean;
  readonly #tick: () => void;
  readonly #clock: TimerClock;
  #timer: Timer | null = null;

  /** @param waits reports whether something waits; called before each `tick` */
  constructor(everyMs: number, waits: () => boolean, tick: () => void, clock = systemClock) {
    this.#everyMs = everyMs;
    this.#waits = waits;
    this.#tick = tick;
    this.#clock = clock;
  }

  /** Must be called whenever something begins to wait. */
  begin(): void {
    this.#timer ??= this.#clock
      .setTicker(this.#everyMs, () => {
        if (this.#waits()) setImmediate(this.#tick);
        else this.stop();
      })
      .unref();
  }

  /** Stops the ticks until something begins to wait again. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }
}
