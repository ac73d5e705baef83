import { OnDemandTimer, type TimerClock } from '@gateway/service-kit';

/** Accuracy of deadlines, in milliseconds. */
export const DEADLINE_STEP_MS = 25;

/** A scheduled handler that can be cancelled. */
export interface Deadline {
  cancel(): void;
}

class Entry implements Deadline {
  isCancelled = false;

  constructor(
    readonly atMs: number,
    readonly expired: () => void,
    readonly failed: (err: unknown) => void,
  ) {}

  cancel(): void {
    this.isCancelled = true;
  }
}

/**
 * All time limits of all calls, checked by one timer; a timer for each call would be slower. A
 * cancelled entry is only marked and removed by the next sweep, because removing each one at once
 * costs more than all sweeps together.
 */
export class Deadlines {
  readonly #clock: TimerClock;
  readonly #failed: (err: unknown) => void;
  #entries: Entry[] = [];
  readonly #timer: OnDemandTimer;

  /**
   * @param failed receives the exception of a handler that was scheduled without its own `failed`.
   *   Uncaught, it would end the process and all its streams.
   */
  constructor(clock: TimerClock, failed: (err: unknown) => void) {
    this.#clock = clock;
    this.#failed = failed;
    const waits = (): boolean => this.#entries.length > 0;
    this.#timer = new OnDemandTimer(DEADLINE_STEP_MS, waits, () => this.#sweep(), clock);
  }

  /** Monotonic milliseconds. */
  nowMs(): number {
    return this.#clock.monotonicMs();
  }

  /**
   * Calls `expired` once, between `atMs` (monotonic) and {@link DEADLINE_STEP_MS} later. Passes its
   * exception to `failed`.
   */
  at(atMs: number, expired: () => void, failed = this.#failed): Deadline {
    const entry = new Entry(atMs, expired, failed);
    this.#entries.push(entry);
    this.#timer.begin();
    return entry;
  }

  in(ms: number, expired: () => void, failed = this.#failed): Deadline {
    return this.at(this.#clock.monotonicMs() + ms, expired, failed);
  }

  stop(): void {
    this.#timer.stop();
  }

  #sweep(): void {
    const now = this.#clock.monotonicMs();
    const entries = this.#entries;
    // Handlers may add deadlines to the new list.
    this.#entries = [];
    for (const entry of entries) {
      if (entry.isCancelled) continue;
      if (entry.atMs > now) this.#entries.push(entry);
      else expire(entry);
    }
  }
}

function expire({ expired, failed }: Entry): void {
  try {
    expired();
  } catch (err) {
    failed(err);
  }
}
