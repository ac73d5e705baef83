import type { HttpLimits } from './http-limits.js';

/** From when on the rate of a body counts. */
export const RATE_AFTER_MS = 10_000;

/** How fast a body comes, told from how many bytes its connection had read at each look. */
export class BodyPace {
  /** The request, as whatever tells it from others. */
  readonly of: object;
  readonly #beganAtMs: number;
  readonly #beganAtBytes: number;
  #movedAtMs: number;
  #bytes: number;

  /** The first look. Times are monotonic. */
  constructor(of: object, nowMs: number, bytesRead: number) {
    this.of = of;
    this.#beganAtMs = nowMs;
    this.#beganAtBytes = bytesRead;
    this.#movedAtMs = nowMs;
    this.#bytes = bytesRead;
  }

  /** Nothing came for long, or on average less than what is asked for. */
  isTooSlow(
    nowMs: number,
    bytesRead: number,
    { bodyIdleMsMax, bodyBytesPerSecondMin }: Pick<HttpLimits, 'bodyIdleMsMax' | 'bodyBytesPerSecondMin'>,
  ): boolean {
    if (bytesRead !== this.#bytes) {
      this.#bytes = bytesRead;
      this.#movedAtMs = nowMs;
    }
    if (nowMs - this.#movedAtMs >= bodyIdleMsMax) return true;
    const ms = nowMs - this.#beganAtMs;
    return ms > RATE_AFTER_MS && bytesRead - this.#beganAtBytes < (ms / 1_000) * bodyBytesPerSecondMin;
  }
}
