/** How exactly deadlines are kept, in milliseconds. */
export const DEADLINE_STEP_MS = 25;

/** A time at which something happens, unless it is cancelled before. */
export interface Deadline {
  cancel(): void;
}

interface Entry extends Deadline {
  readonly atMs: number;
  readonly expired: () => void;
}

/** All time limits of all calls: one timer looks at them, no call has one of its own (performance). */
export class Deadlines {
  readonly #monotonicMs: () => number;
  readonly #entries = new Set<Entry>();
  readonly #timer: NodeJS.Timeout;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
    this.#timer = setInterval(() => {
      // After the poll phase: what arrived while the loop was held up counts as in time.
      if (this.#entries.size > 0) setImmediate(() => this.#sweep());
    }, DEADLINE_STEP_MS).unref();
  }

  /** Monotonic milliseconds. */
  nowMs(): number {
    return this.#monotonicMs();
  }

  /** Calls `expired` once at `atMs` (monotonic) or up to {@link DEADLINE_STEP_MS} later. */
  at(atMs: number, expired: () => void): Deadline {
    const entry: Entry = { atMs, expired, cancel: () => void this.#entries.delete(entry) };
    this.#entries.add(entry);
    return entry;
  }

  in(ms: number, expired: () => void): Deadline {
    return this.at(this.#monotonicMs() + ms, expired);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #sweep(): void {
    const now = this.#monotonicMs();
    for (const entry of this.#entries) {
      if (entry.atMs > now) continue;
      this.#entries.delete(entry);
      entry.expired();
    }
  }
}
