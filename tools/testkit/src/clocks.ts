import { systemClock, type Timer, type TimerClock } from '@gateway/service-kit';

const PATIENCE_MS = 60_000;

/**
 * The system's clock, with timeouts of at least a minute. For suites that test no timeout: a slow
 * machine then makes them slow and does not fail them.
 */
export const patientClock: TimerClock = { ...systemClock, timeoutMs: (ms) => Math.max(ms, PATIENCE_MS) };

interface Due {
  atMs: number;
  readonly everyMs: number | null;
  readonly call: () => void;
}

/** A clock that only the test advances. */
export class ManualClock implements TimerClock {
  readonly #due = new Set<Due>();
  #nowMs: number;

  constructor(startMs = Date.now()) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  setTimer(ms: number, fire: () => void): Timer {
    return this.#add({ atMs: this.#nowMs + ms, everyMs: null, call: fire });
  }

  setTicker(ms: number, tick: () => void): Timer {
    return this.#add({ atMs: this.#nowMs + ms, everyMs: ms, call: tick });
  }

  timeoutMs(ms: number): number {
    return ms;
  }

  /** Timers and tickers that are due later. */
  get pending(): number {
    return this.#due.size;
  }

  /**
   * Advances the clock by `ms` milliseconds. Makes the due calls one after the other at their
   * times, and lets promises and data that has already arrived be processed after each.
   */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    await processed();
    for (;;) {
      const [next] = [...this.#due].filter(({ atMs }) => atMs <= endMs).sort((one, other) => one.atMs - other.atMs);
      if (next === undefined) break;
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      if (next.everyMs === null) this.#due.delete(next);
      else next.atMs += Math.max(1, next.everyMs);
      next.call();
      await processed();
    }
    this.#nowMs = endMs;
    await processed();
  }

  /** Advances the clock as if the process was blocked: the next `advance` makes the due calls. */
  block(ms: number): void {
    this.#nowMs += ms;
  }

  #add(due: Due): Timer {
    this.#due.add(due);
    const timer: Timer = { cancel: () => void this.#due.delete(due), unref: () => timer };
    return timer;
  }
}

/** Waits for two turns of the event loop: a timeout fires only in the turn after its timer. */
async function processed(): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
