/** A pause as long as this is one that a provider may answer by giving up. */
export const LONG_PAUSE_MS = 10_000;
/** So many times as long the break that a pause has caused may stay behind what lay in buffers and is read first. */
const AFTERMATH = 6;

/**
 * When the client has held an answer up by not reading it. What such an answer ends by is the client's doing: it had what
 * was delivered, and pays for it as one that left. Times are monotonic milliseconds.
 */
export class ClientPauses {
  readonly #longMs: number;
  #pausedAtMs: number | null = null;
  #endedAtMs = -Infinity;
  /** When the last long pause ended. */
  #longEndedAtMs = -Infinity;

  /** @param stalledMs how long a client may take nothing at all; half of it is long as well */
  constructor(stalledMs: number) {
    this.#longMs = Math.min(LONG_PAUSE_MS, stalledMs / 2);
  }

  pause(nowMs: number): void {
    this.#pausedAtMs ??= nowMs;
  }

  resume(nowMs: number): void {
    if (this.#pausedAtMs === null) return;
    const isLong = nowMs - this.#pausedAtMs >= this.#longMs;
    this.#pausedAtMs = null;
    this.#endedAtMs = nowMs;
    if (isLong) this.#longEndedAtMs = nowMs;
  }

  /** Whether a provider whose giving up shows now has waited for the client: in a long pause, or soon after one. */
  madeProviderWait(nowMs: number): boolean {
    if (this.#pausedAtMs !== null && nowMs - this.#pausedAtMs >= this.#longMs) return true;
    return nowMs - this.#longEndedAtMs <= this.#longMs * AFTERMATH;
  }

  /** Whether an answer that is late waits for the client: in a pause, or just after one. */
  areWaitedFor(nowMs: number): boolean {
    return this.#pausedAtMs !== null || nowMs - this.#endedAtMs <= this.#longMs;
  }
}
