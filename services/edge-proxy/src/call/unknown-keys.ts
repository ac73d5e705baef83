import { field, RateByClient, type ConfigOf } from '@gateway/service-kit';

/** Limits on unknown keys for each client network. */
export const UNKNOWN_KEY_FIELDS = {
  // One network must not use all 256 concurrent lookups of an accounts replica.
  GATEWAY_EDGE_UNKNOWN_KEYS: field.integer({
    doc: 'different unknown keys that one client network may present; above this, its keys that this edge does not know get status 429',
    min: 1,
    max: 1_000_000,
    default: 200,
  }),
  GATEWAY_EDGE_UNKNOWN_KEYS_PER_MINUTE: field.integer({
    doc: 'how many of GATEWAY_EDGE_UNKNOWN_KEYS a client network regains in a minute',
    min: 1,
    max: 1_000_000,
    default: 60,
  }),
} as const;

/** Most networks that are remembered. */
const NETWORKS_MAX = 20_000;
/** Most digests that are remembered. */
const DIGESTS_MAX = 20_000;
/** Longest `Retry-After` of `rate_limited` in the specification. */
const WAIT_SECONDS_MAX = 60;

/**
 * Limits how often admission is queried for made-up keys. A key takes one unit of its network's
 * rate when it is looked up for the first time, and returns it if the key turns out to be real.
 * Later lookups take none: clients use a rotated secret for a long time.
 */
export class UnknownKeys {
  readonly #rate: RateByClient;
  /** Looked-up digests in order, each with the network whose unit it holds; null: none. */
  readonly #asked = new Map<string, string | null>();

  constructor(config: ConfigOf<typeof UNKNOWN_KEY_FIELDS>) {
    this.#rate = new RateByClient({
      burst: config.GATEWAY_EDGE_UNKNOWN_KEYS,
      perSecond: config.GATEWAY_EDGE_UNKNOWN_KEYS_PER_MINUTE / 60,
      keysMax: NETWORKS_MAX,
    });
  }

  /** Number of remembered digests. */
  get size(): number {
    return this.#asked.size;
  }

  /**
   * Returns null if admission may be queried. Otherwise returns after how many seconds the client
   * may retry, from 1 to 60. Times are monotonic.
   */
  ask(network: string, digest: string, nowMs: number): number | null {
    if (this.#asked.has(digest)) return null;
    if (this.#rate.take(network, nowMs)) {
      this.#remember(digest, network);
      return null;
    }
    return Math.min(WAIT_SECONDS_MAX, Math.ceil(this.#rate.waitMs(network) / 1_000));
  }

  /** Records a key that admission confirmed. */
  confirmed(digest: string): void {
    const network = this.#asked.get(digest);
    if (network === undefined) return;
    this.#asked.delete(digest);
    if (network !== null) this.#rate.giveBack(network);
  }

  /** Records a key that is not made up but may not call: it exists or existed. */
  exempt(digest: string): void {
    this.confirmed(digest);
    this.#remember(digest, null);
  }

  #remember(digest: string, network: string | null): void {
    this.#asked.set(digest, network);
    if (this.#asked.size <= DIGESTS_MAX) return;
    const [oldest] = this.#asked.keys();
    if (oldest !== undefined) this.#asked.delete(oldest);
  }
}
