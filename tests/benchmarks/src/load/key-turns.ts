const MINUTE_MS = 60_000;

/**
 * Assigns keys in turn: never two concurrent calls with one key, and never more calls in a clock
 * minute than the gateway admits. A call that ends in another minute than it began counts in both,
 * because the gateway may have counted it in either.
 */
export class KeyRotation {
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
   * Returns the next key of a connection's own share, or null if all are used up. If there are more
   * connections than keys, several connections share a key.
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

  /** Records the end of a call. */
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
