import { type GatewayError, REFUSAL, gatewayError } from '@gateway/contracts/errors';
import { requestTwice } from '../admission/edge-clock.js';
import type {
  AuthorizeAnswer,
  AuthorizeQuestion,
  ClientHeaders,
  ClientRequest,
  TargetReplica,
  UsageAnswer,
} from '../ports.js';
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

/**
 * What admission answers about the key of a list, or why it was not asked; null: nobody answered.
 */
export async function askForKey<Answer extends AuthorizeAnswer | UsageAnswer>(
  edge: Edge,
  request: ClientRequest,
  digests: string[],
  ask: (question: AuthorizeQuestion, to: TargetReplica) => Promise<Answer>,
): Promise<Answer | { readonly kind: 'error'; readonly error: GatewayError } | null> {
  const presented = { request, digests };
  const nowMs = (): number => edge.deadlines.nowMs();
  const lookUp = lookUpOf(edge, presented, nowMs());
  if (lookUp.kind === 'error') return lookUp;
  const question = { id: request.id, digests };
  const answer = await requestTwice((to) => ask(question, to), edge.replicas, nowMs).catch(() => null);
  if (answer !== null) noteKey(edge, presented, answer);
  return answer;
}

export type PresentedKey =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'missing' }
  /** Two Bearers, or two of x-api-key: nobody can say which one counts. */
  | { readonly kind: 'ambiguous' };

const BEARER = /^bearer(?=[ \t])/i;

/**
 * The key that a request presents (specification, Authentication): a Bearer wins over x-api-key;
 * another scheme is ignored and an empty Bearer counts as absent.
 */
export function presentedKey(headers: ClientHeaders): PresentedKey {
  if (headers.hasTwoAuthorizations) return { kind: 'ambiguous' };
  const bearer = headers.authorization === null ? '' : bearerIn(headers.authorization);
  if (bearer !== '') return { kind: 'key', key: bearer };
  if (headers.hasTwoApiKeys) return { kind: 'ambiguous' };
  const apiKey = headers.apiKey?.trim() ?? '';
  return apiKey === '' ? { kind: 'missing' } : { kind: 'key', key: apiKey };
}

/** What follows `Bearer`; empty when there is nothing, or another scheme. */
export function bearerIn(authorization: string): string {
  return BEARER.test(authorization) ? authorization.slice('bearer'.length).trim() : '';
}
