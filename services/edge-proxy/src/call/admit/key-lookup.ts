import { type GatewayError, type RefusalCode, gatewayError, isBefore } from '@gateway/contracts/errors';
import { type ConfigOf, RateByClient, field } from '@gateway/service-kit';
import type { ClientRequest } from '../../ports.js';
import type { EdgeMetrics } from '../edge-metrics.js';

/** Parts of {@link checkKeyLookup} and {@link recordKeyOutcome}. */
export interface KeyLookupParts {
  readonly knownKeys: KnownKeys;
  readonly unknownKeys: UnknownKeys;
  readonly metrics: Pick<EdgeMetrics, 'unknownKey'>;
}

/** The digests of a presented key, and the client that presents it. */
export interface KeyDigests {
  readonly request: Pick<ClientRequest, 'client'>;
  /** The first one identifies the key; the others are digests of the same secret. */
  readonly digests: readonly string[];
}

/**
 * `ask`: admission may be queried; `account` is null if the key was not confirmed recently.
 * `error`: the key is not looked up.
 */
export type KeyLookup =
  | { readonly kind: 'ask'; readonly account: string | null }
  | { readonly kind: 'error'; readonly error: GatewayError };

type Outcome =
  | { readonly kind: 'refused'; readonly code: RefusalCode }
  | { readonly kind: 'fault' }
  | { readonly kind: 'admitted' | 'opened' | 'authorized' | 'usage'; readonly account: string };

/**
 * Decides whether admission may be queried for a key. The result is `ask` for a key that was
 * confirmed recently. For others it is a 429 error if the client's network presented too many
 * unknown keys. The key may be valid, so the client should retry; a 500 would report a fault.
 */
export function checkKeyLookup(
  { knownKeys, unknownKeys, metrics }: KeyLookupParts,
  { request, digests }: KeyDigests,
  nowMs: number,
): KeyLookup {
  const digest = digests[0] ?? '';
  const account = knownKeys.accountOf(digest);
  const waitSeconds = account === null ? unknownKeys.ask(request.client, digest, nowMs) : null;
  if (waitSeconds === null) return { kind: 'ask', account };
  metrics.unknownKey('not_looked_up');
  const text = `Your network sent too many unknown API keys, so this key was not looked up. Try again in ${waitSeconds} s.`;
  return { kind: 'error', error: gatewayError('rate_limited', text, { retryAfterSeconds: waitSeconds }) };
}

/** Remembers the account of a key, or that the key is invalid. */
export function recordKeyOutcome(
  { knownKeys, unknownKeys, metrics }: KeyLookupParts,
  { digests }: KeyDigests,
  outcome: Outcome,
): void {
  const digest = digests[0] ?? '';
  if (outcome.kind === 'fault') return;
  if (outcome.kind !== 'refused') {
    unknownKeys.confirmed(digest);
    return knownKeys.confirmed(digest, outcome.account);
  }
  const { code } = outcome;
  const isUnknownKey = code === 'invalid_api_key';
  // Refusals from `rate_limited` on are for valid keys whose account may call.
  const wasKnown = isBefore(code, 'rate_limited') && knownKeys.refused(digest);
  if (!isUnknownKey || wasKnown) unknownKeys.exempt(digest);
  if (isUnknownKey) metrics.unknownKey('refused');
}

/** Digests in one generation. The two latest generations are kept. */
const GENERATION_DIGESTS_MAX = 10_000;

/**
 * The digests of keys that admission confirmed recently, and their accounts. They are only a hint.
 * They decide how much of a body is read before admission, to which account it is counted, and that
 * the key is looked up even if its network presented many unknown keys. They never decide whether a
 * call is admitted.
 */
export class KnownKeys {
  #recent = new Map<string, string>();
  #before = new Map<string, string>();

  /** Number of remembered digests. */
  get size(): number {
    return this.#recent.size + this.#before.size;
  }

  /** The account of the key; null: the key was not confirmed recently. */
  accountOf(digest: string): string | null {
    return this.#recent.get(digest) ?? this.#before.get(digest) ?? null;
  }

  confirmed(digest: string, account: string): void {
    if (this.#recent.get(digest) === account) return;
    if (this.#recent.size >= GENERATION_DIGESTS_MAX) [this.#before, this.#recent] = [this.#recent, new Map()];
    this.#recent.set(digest, account);
  }

  /** Removes a key that admission refused. Returns whether it was known. */
  refused(digest: string): boolean {
    const wasRecent = this.#recent.delete(digest);
    return this.#before.delete(digest) || wasRecent;
  }
}

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
