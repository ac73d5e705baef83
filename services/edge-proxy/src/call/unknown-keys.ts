import { field, RateByClient, type ConfigOf } from '@gateway/service-kit';

/** What one client network may present of keys that nobody has. */
export const UNKNOWN_KEY_FIELDS = {
  // Fewer than the 256 look-ups that one replica of accounts does at a time: one network cannot
  // take them all.
  GATEWAY_EDGE_UNKNOWN_KEYS: field.integer({
    doc: 'different keys that nobody has which one client network may present before more of its keys that this edge does not know are answered 429',
    min: 1,
    max: 1_000_000,
    default: 200,
  }),
  GATEWAY_EDGE_UNKNOWN_KEYS_PER_MINUTE: field.integer({
    doc: 'how many of GATEWAY_EDGE_UNKNOWN_KEYS a client network gets back in a minute',
    min: 1,
    max: 1_000_000,
    default: 60,
  }),
} as const;

/** Networks that are remembered. */
const NETWORKS_MAX = 20_000;
/** Digests that are remembered as asked for. */
const DIGESTS_MAX = 20_000;
/** The contract's longest for `rate_limited`. */
const WAIT_SECONDS_MAX = 60;

/**
 * Bounds how often admission is asked for keys that somebody invents: anybody can make one of the
 * right form. A key takes a token of its network when it is asked for the first time, and gives it
 * back when it turns out to be somebody's. However often it is presented afterwards, it takes none:
 * secrets that were rotated away are presented for long.
 */
export class UnknownKeys {
  readonly #rate: RateByClient;
  /**
   * Digests that were asked for, in that order, and the network whose token each has; null: none.
   */
  readonly #asked = new Map<string, string | null>();

  constructor(config: ConfigOf<typeof UNKNOWN_KEY_FIELDS>) {
    this.#rate = new RateByClient({
      burst: config.GATEWAY_EDGE_UNKNOWN_KEYS,
      perSecond: config.GATEWAY_EDGE_UNKNOWN_KEYS_PER_MINUTE / 60,
      keysMax: NETWORKS_MAX,
    });
  }

  /** Digests that are remembered. */
  get size(): number {
    return this.#asked.size;
  }

  /**
   * Null: admission may be asked; else after how many seconds the client may try again, from 1 to
   * 60. Times are monotonic.
   */
  ask(network: string, digest: string, nowMs: number): number | null {
    if (this.#asked.has(digest)) return null;
    if (this.#rate.take(network, nowMs)) {
      this.#remember(digest, network);
      return null;
    }
    return Math.min(WAIT_SECONDS_MAX, Math.ceil(this.#rate.waitMs(network) / 1_000));
  }

  /** It is a key that the caller knows from now on. */
  confirmed(digest: string): void {
    const network = this.#asked.get(digest);
    if (network === undefined) return;
    this.#asked.delete(digest);
    if (network !== null) this.#rate.giveBack(network);
  }

  /** It is no invented key, though it may not call: it is, or was, somebody's. */
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
