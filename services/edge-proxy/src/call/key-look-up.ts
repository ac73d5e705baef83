import { gatewayError, REFUSAL, type GatewayError } from '@gateway/contracts/errors';
import type { ClientRequest } from '../ports.js';
import type { Edge } from './call.js';

/** A key as admission is asked about it, and who presents it. */
export interface PresentedDigests {
  readonly request: Pick<ClientRequest, 'client'>;
  /** The first stands for the key: the others are of the same secret. */
  readonly digests: readonly string[];
}

/** Whose key it is; null: nobody has confirmed it lately. Or why admission is not asked. */
export type LookUp =
  { readonly kind: 'ask'; readonly account: string | null } | { readonly kind: 'error'; readonly error: GatewayError };

type Outcome =
  | { readonly kind: 'refused'; readonly row: number }
  | { readonly kind: 'fault' }
  | { readonly kind: 'admitted' | 'opened' | 'authorized' | 'usage'; readonly account: string };

/**
 * Whether admission may be asked for a key: always for one that it confirmed lately; else 429 when
 * the key's network presented too many that nobody has. The key may be good, so the client is told
 * to try again, and nothing is broken, so it is no 500.
 */
export function lookUpOf(
  { knownKeys, unknownKeys, metrics }: Pick<Edge, 'knownKeys' | 'unknownKeys' | 'metrics'>,
  { request, digests }: PresentedDigests,
  nowMs: number,
): LookUp {
  const digest = digests[0] ?? '';
  const account = knownKeys.accountOf(digest);
  const waitSeconds = account === null ? unknownKeys.ask(request.client, digest, nowMs) : null;
  if (waitSeconds === null) return { kind: 'ask', account };
  metrics.unknownKey('unasked');
  const text = `Too many keys that nobody has came from your network, so this key was not looked up. Try again in ${waitSeconds} s.`;
  return { kind: 'error', error: gatewayError('rate_limited', text, { retryAfterSeconds: waitSeconds }) };
}

/** Remembers whose key it is, or that it is nobody's any more. */
export function noteKey(
  { knownKeys, unknownKeys, metrics }: Pick<Edge, 'knownKeys' | 'unknownKeys' | 'metrics'>,
  { digests }: PresentedDigests,
  outcome: Outcome,
): void {
  const digest = digests[0] ?? '';
  if (outcome.kind === 'fault') return;
  if (outcome.kind !== 'refused') {
    unknownKeys.confirmed(digest);
    return knownKeys.confirmed(digest, outcome.account);
  }
  const { row: rank } = outcome;
  const isNobodys = rank === REFUSAL.invalid_api_key;
  // From `rate_limited` on a key exists, and its account may call.
  const wasKnown = rank < REFUSAL.rate_limited && knownKeys.refused(digest);
  if (!isNobodys || wasKnown) unknownKeys.exempt(digest);
  if (isNobodys) metrics.unknownKey('refused');
}
