import { OnDemandTimer } from '@gateway/service-kit';

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
  readonly #monotonicMs: () => number;
  readonly #failed: (err: unknown) => void;
  #entries: Entry[] = [];
  readonly #timer = new OnDemandTimer(
    DEADLINE_STEP_MS,
    () => this.#entries.length > 0,
    () => this.#sweep(),
  );

  /**
   * @param failed receives the exception of a handler that was scheduled without its own `failed`.
   *   Uncaught, it would end the process and all its streams.
   */
  constructor(monotonicMs: () => number, failed: (err: unknown) => void) {
    this.#monotonicMs = monotonicMs;
    this.#failed = failed;
  }

  /** Monotonic milliseconds. */
  nowMs(): number {
    return this.#monotonicMs();
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
    return this.at(this.#monotonicMs() + ms, expired, failed);
  }

  stop(): void {
    this.#timer.stop();
  }

  #sweep(): void {
    const now = this.#monotonicMs();
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
