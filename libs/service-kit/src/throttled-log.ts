export interface ThrottleOptions {
  /** Least time between two lines of one key, in milliseconds; {@link EVERY_MS} when absent. */
  readonly everyMs?: number;
  /** Monotonic milliseconds; `performance.now` when absent. */
  readonly nowMs?: () => number;
}

const EVERY_MS = 10_000;

/**
 * Decides which of many alike log lines are written: for each key the first one, then at most one
 * in `everyMs`.
 */
export class Throttle {
  /** By key: when the next line may come, and how often there was none. */
  readonly #keys = new Map<string, { readonly nextAt: number; unlogged: number }>();
  readonly #everyMs: number;
  readonly #nowMs: () => number;

  constructor({ everyMs = EVERY_MS, nowMs = () => performance.now() }: ThrottleOptions = {}) {
    this.#everyMs = everyMs;
    this.#nowMs = nowMs;
  }

  /**
   * How many lines of this key were left out since the one before, when this one may be written;
   * null when it may not. Keys that were quiet for `everyMs` are dropped with the next line.
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

/**
 * A warning for what may happen with each call: a {@link Throttle} with its line, which says how
 * often it happened.
 */
export class ThrottledLog {
  readonly #throttle: Throttle;

  constructor(
    private readonly log: { warn(fields: object, text: string): void },
    private readonly text: string,
    options?: ThrottleOptions,
  ) {
    this.#throttle = new Throttle(options);
  }

  /** @param key what is throttled by itself; one for all when absent */
  warn(fields: object, key = ''): void {
    const unlogged = this.#throttle.pass(key);
    if (unlogged !== null) this.log.warn({ ...fields, times: unlogged + 1 }, this.text);
  }
}
