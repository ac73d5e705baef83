export interface ThrottleOptions {
  /** Minimum time between two lines of one key, in milliseconds. Default: {@link EVERY_MS}. */
  readonly everyMs?: number;
  /** Monotonic milliseconds. Default: `performance.now`. */
  readonly nowMs?: () => number;
}

const EVERY_MS = 10_000;

/** Limits repeated log lines: for each key the first one, then at most one per `everyMs`. */
export class Throttle {
  /** For each key the time of the next line and the number of suppressed lines. */
  readonly #keys = new Map<string, { readonly nextAt: number; unlogged: number }>();
  readonly #everyMs: number;
  readonly #nowMs: () => number;

  constructor({ everyMs = EVERY_MS, nowMs = () => performance.now() }: ThrottleOptions = {}) {
    this.#everyMs = everyMs;
    this.#nowMs = nowMs;
  }

  /**
   * Returns the number of suppressed lines of this key if a line may be written now, else null.
   * Keys without an event for `everyMs` are dropped with the next line.
   */
  pass(key: string): number | null {
    const now = this.#nowMs();
    const before = this.#keys.get(key);
    if (before !== undefined && now < before.nextAt) {
      before.unlogged += 1;
      return null;
    }
    for (const [other, { nextAt }] of this.#keys) if (nextAt <= now) this.#keys.delete(other);
    this.#keys.set(key, { nextAt: now + this.#everyMs, unlogged: 0 });
    return before?.unlogged ?? 0;
  }
}

/** A throttled warning about an event that each call may have. A line counts the events. */
export class ThrottledLog {
  readonly #throttle: Throttle;

  constructor(
    private readonly log: { warn(fields: object, text: string): void },
    private readonly text: string,
    options?: ThrottleOptions,
  ) {
    this.#throttle = new Throttle(options);
  }

  /** @param key throttled separately from others. Default: one key for all. */
  warn(fields: object, key = ''): void {
    const unlogged = this.#throttle.pass(key);
    if (unlogged !== null) this.log.warn({ ...fields, times: unlogged + 1 }, this.text);
  }
}
