import { OnDemandTimer } from '@gateway/service-kit';

/** How exactly deadlines are kept, in milliseconds. */
export const DEADLINE_STEP_MS = 25;

/** A time at which something happens, unless it is cancelled before. */
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
 * All time limits of all calls: one timer looks at them, no call has one of its own (performance).
 * A cancelled one is only marked and goes with the next look: taking each out at once costs more
 * than all looks together.
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
   * @param failed is told what a deadline threw whose owner does not want to know; thrown on it
   *   would end the process and all its streams
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
   * Calls `expired` once at `atMs` (monotonic) or up to {@link DEADLINE_STEP_MS} later, and
   * `failed` with what that throws.
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
    // What expires may set new deadlines: they are pushed to the new list.
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
