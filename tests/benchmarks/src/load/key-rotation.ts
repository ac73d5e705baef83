const MINUTE_MS = 60_000;
const minuteOf = (ms: number): number => Math.floor(ms / MINUTE_MS);

/**
 * Assigns keys in turn: never two concurrent calls with one key, and never more calls in a clock
 * minute than the gateway admits. A call that ends in another minute than it began counts in both,
 * because the gateway may have counted it in either.
 */
export class KeyRotation {
  readonly #minutes: Int32Array;
  readonly #counts: Uint16Array;
  readonly #next = new Map<number, number>();

  constructor(
    private readonly keysTotal: number,
    private readonly perMinuteMax: number,
  ) {
    this.#minutes = new Int32Array(keysTotal);
    this.#counts = new Uint16Array(keysTotal);
  }

  /**
   * Returns the next key of a connection's own share, or null if all are used up. If there are more
   * connections than keys, several connections share a key.
   */
  take(connection: number, connections: number, nowMs: number): number | null {
    const share = Math.max(1, Math.ceil((this.keysTotal - connection) / connections));
    for (let tried = 0; tried < share; tried += 1) {
      const turn = this.#next.get(connection) ?? 0;
      this.#next.set(connection, turn + 1);
      const key = (connection + (turn % share) * connections) % this.keysTotal;
      const count = this.#countIn(key, minuteOf(nowMs));
      if (count >= this.perMinuteMax) continue;
      this.#counts[key] = count + 1;
      return key;
    }
    return null;
  }

  /** Records the end of a call. */
  ended(key: number, startedMs: number, nowMs: number): void {
    const minute = minuteOf(nowMs);
    if (minute !== minuteOf(startedMs)) this.#counts[key] = this.#countIn(key, minute) + 1;
  }

  #countIn(key: number, minute: number): number {
    if (this.#minutes[key] !== minute) {
      this.#minutes[key] = minute;
      this.#counts[key] = 0;
    }
    return this.#counts[key] ?? 0;
  }
}
