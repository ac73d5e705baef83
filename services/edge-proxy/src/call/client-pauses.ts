/** A pause of this length may cause a provider to close the connection. */
export const LONG_PAUSE_MS = 10_000;
/**
 * Shorter pauses are ignored: a large write may wait for a moment even if the client reads as fast
 * as it can.
 */
export const NOTICEABLE_PAUSE_MS = 250;
/**
 * Factor for the time in which a broken connection is still attributed to a long pause. Buffered
 * bytes are read first, so the break shows late.
 */
const AFTER_PAUSE_FACTOR = 6;

/**
 * Records when the client delayed a response by not reading it. If such a response ends early, the
 * client caused it, and pays for the delivered part like a client that left. Times are monotonic
 * milliseconds.
 */
export class ClientPauses {
  readonly #longMs: number;
  #pausedAtMs: number | null = null;
  /** End of the last pause of at least {@link NOTICEABLE_PAUSE_MS}, and of the last long one. */
  #feltEndedAtMs = -Infinity;
  #longEndedAtMs = -Infinity;

  /** @param stalledMs longest time without a read; a pause of half of it counts as long */
  constructor(stalledMs: number) {
    this.#longMs = Math.min(LONG_PAUSE_MS, stalledMs / 2);
  }

  get isPaused(): boolean {
    return this.#pausedAtMs !== null;
  }

  pause(nowMs: number): void {
    this.#pausedAtMs ??= nowMs;
  }

  resume(nowMs: number): void {
    if (this.#pausedAtMs === null) return;
    const pausedMs = nowMs - this.#pausedAtMs;
    this.#pausedAtMs = null;
    if (pausedMs >= NOTICEABLE_PAUSE_MS) this.#feltEndedAtMs = nowMs;
    if (pausedMs >= this.#longMs) this.#longEndedAtMs = nowMs;
  }

  /** Whether a connection that breaks now was delayed by a long pause of the client. */
  madeProviderWait(nowMs: number): boolean {
    if (this.#pausedAtMs !== null && nowMs - this.#pausedAtMs >= this.#longMs) return true;
    return nowMs - this.#longEndedAtMs <= this.#longMs * AFTER_PAUSE_FACTOR;
  }

  /** Whether a response that is late now was delayed by a noticeable pause of the client. */
  areWaitedFor(nowMs: number): boolean {
    if (this.#pausedAtMs !== null && nowMs - this.#pausedAtMs >= NOTICEABLE_PAUSE_MS) return true;
    return nowMs - this.#feltEndedAtMs <= this.#longMs;
  }
}
