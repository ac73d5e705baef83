export interface RateByClientOptions {
  /** Tokens of a client that has taken none for long. */
  readonly burst: number;
  /** Tokens that come back, up to `burst`. */
  readonly perSecond: number;
  /**
   * Most clients that are remembered; above, the one that asked longest ago is forgotten and begins
   * anew.
   */
  readonly keysMax: number;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

/** A token bucket for each client. */
export class RateByClient {
  readonly #options: RateByClientOptions;
  /** In the order in which they asked last. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(options: RateByClientOptions) {
    this.#options = options;
  }

  /** Clients that are remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  /**
   * Takes a token; false when the client has none left.
   * @param nowMs of a clock that does not go back
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

  /** Gives a token back that the client took and did not need. */
  giveBack(client: string): void {
    const bucket = this.#buckets.get(client);
    if (bucket !== undefined) bucket.tokens = Math.min(this.#options.burst, bucket.tokens + 1);
  }

  /** Milliseconds from its last {@link take} until the client has a token; 0: it has one. */
  waitMs(client: string): number {
    const tokens = this.#buckets.get(client)?.tokens ?? this.#options.burst;
    return (Math.max(0, 1 - tokens) / this.#options.perSecond) * 1_000;
  }

  #forgetOldest(): void {
    const [oldest] = this.#buckets.keys();
    if (oldest !== undefined) this.#buckets.delete(oldest);
  }
}
