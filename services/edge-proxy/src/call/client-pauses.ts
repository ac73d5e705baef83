/** A pause as long as this is one that a provider may answer by giving up. */
export const LONG_PAUSE_MS = 10_000;
/**
 * A shorter pause is none: a write of some size waits for a moment also when its client reads as
 * fast as it can.
 */
export const FELT_PAUSE_MS = 250;
/**
 * So many times as long the break that a pause has caused may stay behind what lay in buffers and
 * is read first.
 */
const AFTERMATH = 6;

/**
 * When the client has held an answer up by not reading it. What such an answer ends by is the
 * client's doing: it had what was delivered, and pays for it as one that left. Times are monotonic
 * milliseconds.
 */
export class ClientPauses {
  readonly #longMs: number;
  #pausedAtMs: number | null = null;
  /** When the last pause ended that was felt, and the last long one. */
  #feltEndedAtMs = -Infinity;
  #longEndedAtMs = -Infinity;

  /** @param stalledMs how long a client may take nothing at all; half of it is long as well */
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
    if (pausedMs >= FELT_PAUSE_MS) this.#feltEndedAtMs = nowMs;
    if (pausedMs >= this.#longMs) this.#longEndedAtMs = nowMs;
  }

  /**
   * Whether a provider whose giving up shows now has waited for the client: in a long pause, or
   * soon after one.
   */
  madeProviderWait(nowMs: number): boolean {
    if (this.#pausedAtMs !== null && nowMs - this.#pausedAtMs >= this.#longMs) return true;
    return nowMs - this.#longEndedAtMs <= this.#longMs * AFTERMATH;
  }

  /**
   * Whether an answer that is late waits for the client: in a pause that is felt, or soon after
   * one.
   */
  areWaitedFor(nowMs: number): boolean {
    if (this.#pausedAtMs !== null && nowMs - this.#pausedAtMs >= FELT_PAUSE_MS) return true;
    return nowMs - this.#feltEndedAtMs <= this.#longMs;
  }
}
