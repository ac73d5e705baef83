/** How often one trouble is told of. */
const TELL_EVERY_MS = 10_000;

/**
 * For a trouble that comes with each call while it lasts: the log has a line at its first sign, then at most one every ten
 * seconds, with how often it came since the line before.
 */
export class TroubleLog {
  #times = 0;
  #nextAt = -Infinity;

  constructor(
    private readonly log: { warn(facts: object, text: string): void },
    private readonly text: string,
    /** Monotonic milliseconds. */
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  came(err: unknown): void {
    this.#times += 1;
    const now = this.nowMs();
    if (now < this.#nextAt) return;
    this.log.warn({ err, times: this.#times }, this.text);
    this.#times = 0;
    this.#nextAt = now + TELL_EVERY_MS;
  }
}
