export interface RateByClientOptions {
  /** Tokens of a client after a long pause. */
  readonly burst: number;
  /** Tokens added per second, up to `burst`. */
  readonly perSecond: number;
  /**
   * Maximum number of clients. Above it the least recent one is dropped and starts again with a
   * full burst.
   */
  readonly keysMax: number;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

/** A token bucket for each client. */
export class ClientRateLimit {
  readonly #options: RateByClientOptions;
  /** Ordered by the time of the last `take`. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(options: RateByClientOptions) {
    this.#options = options;
  }

  /** Number of stored clients. */
  get size(): number {
    return this.#buckets.size;
  }

  /**
   * Takes a token; false if the client has none.
   * @param nowMs of a monotonic clock
   */
  take(client: string, nowMs: number): boolean {
    const { burst, perSecond, keysMax } = this.#options;
    const bucket = this.#buckets.get(client) ?? { tokens: burst, atMs: nowMs };
    this.#buckets.delete(client);
    this.#buckets.set(client, bucket);
    if (this.#buckets.size > keysMax) this.#forgetOldest();
    bucket.tokens = Math.min(burst, bucket.tokens + (Math.max(0, nowMs - bucket.atMs) / 1_000) * perSecond);
    bucket.atMs = nowMs;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

  /** Returns an unused token. */
  giveBack(client: string): void {
    const bucket = this.#buckets.get(client);
    if (bucket !== undefined) bucket.tokens = Math.min(this.#options.burst, bucket.tokens + 1);
  }

  /** Milliseconds from the last {@link take} until the client has a token; 0 if it has one. */
  waitMs(client: string): number {
    const tokens = this.#buckets.get(client)?.tokens ?? this.#options.burst;
    return (Math.max(0, 1 - tokens) / this.#options.perSecond) * 1_000;
  }

  #forgetOldest(): void {
    const [oldest] = this.#buckets.keys();
    if (oldest !== undefined) this.#buckets.delete(oldest);
  }
}
