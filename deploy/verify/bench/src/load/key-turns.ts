const MINUTE_MS = 60_000;

/**
 * Whose turn it is: keys are used one after the other, never two calls of one key at a time, and
 * never more calls in a clock minute than the gateway admits. A call that ends in another minute
 * than it began counts in both, because the gateway may have counted it in either.
 */
export class KeyTurns {
  readonly #keysTotal: number;
  readonly #perMinuteMax: number;
  readonly #minutes: Int32Array;
  readonly #counts: Uint16Array;
  readonly #next = new Map<number, number>();

  constructor(keysTotal: number, perMinuteMax: number) {
    this.#keysTotal = keysTotal;
    this.#perMinuteMax = perMinuteMax;
    this.#minutes = new Int32Array(keysTotal);
    this.#counts = new Uint16Array(keysTotal);
  }

  /**
   * The next key of one connection out of `connections`, each of which has its own share; null when
   * all are used up. Of more connections than keys several share one.
   */
  take(connection: number, connections: number, nowMs: number): number | null {
    const minute = Math.floor(nowMs / MINUTE_MS);
    const share = Math.max(1, Math.ceil((this.#keysTotal - connection) / connections));
    for (let tried = 0; tried < share; tried += 1) {
      const turn = this.#next.get(connection) ?? 0;
      this.#next.set(connection, turn + 1);
      const key = (connection + (turn % share) * connections) % this.#keysTotal;
      if (this.#countIn(key, minute) >= this.#perMinuteMax) continue;
      this.#counts[key] = (this.#counts[key] ?? 0) + 1;
      return key;
    }
    return null;
  }

  /** Notes the end of a call. */
  ended(key: number, startedMs: number, nowMs: number): void {
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (minute === Math.floor(startedMs / MINUTE_MS)) return;
    this.#counts[key] = this.#countIn(key, minute) + 1;
  }

  #countIn(key: number, minute: number): number {
    if (this.#minutes[key] !== minute) {
      this.#minutes[key] = minute;
      this.#counts[key] = 0;
    }
    return this.#counts[key] ?? 0;
  }
}
