import { type GatewayError, type RefusalCode, gatewayError, isBefore } from '@gateway/contracts/errors';
import { requestWithRetry } from '../admission/edge-clock.js';
import type {
  AuthorizeReply,
  AuthorizeRequest,
  ClientHeaders,
  ClientRequest,
  TargetReplica,
  UsageReply,
} from '../ports.js';
import type { Edge } from './call.js';

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
  { readonly kind: 'ask'; readonly account: string | null } | { readonly kind: 'error'; readonly error: GatewayError };

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
  { knownKeys, unknownKeys, metrics }: Pick<Edge, 'knownKeys' | 'unknownKeys' | 'metrics'>,
  { request, digests }: KeyDigests,
  nowMs: number,
): KeyLookup {
  const digest = digests[0] ?? '';
  const account = knownKeys.accountOf(digest);
  const waitSeconds = account === null ? unknownKeys.ask(request.client, digest, nowMs) : null;
  if (waitSeconds === null) return { kind: 'ask', account };
  metrics.unknownKey('unasked');
  const text = `Your network sent too many unknown API keys, so this key was not looked up. Try again in ${waitSeconds} s.`;
  return { kind: 'error', error: gatewayError('rate_limited', text, { retryAfterSeconds: waitSeconds }) };
}

/** Remembers the account of a key, or that the key is invalid. */
export function recordKeyOutcome(
  { knownKeys, unknownKeys, metrics }: Pick<Edge, 'knownKeys' | 'unknownKeys' | 'metrics'>,
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
  const isNobodys = code === 'invalid_api_key';
  // Refusals from `rate_limited` on are for valid keys whose account may call.
  const wasKnown = isBefore(code, 'rate_limited') && knownKeys.refused(digest);
  if (!isNobodys || wasKnown) unknownKeys.exempt(digest);
  if (isNobodys) metrics.unknownKey('refused');
}

/**
 * Queries admission about a key for the model list and similar endpoints. Returns its reply, or why
 * it was not queried; null: no reply.
 */
export async function requestKey<Answer extends AuthorizeReply | UsageReply>(
  edge: Edge,
  request: ClientRequest,
  digests: string[],
  ask: (question: AuthorizeRequest, to: TargetReplica) => Promise<Answer>,
): Promise<Answer | { readonly kind: 'error'; readonly error: GatewayError } | null> {
  const presented = { request, digests };
  const nowMs = (): number => edge.deadlines.nowMs();
  const lookUp = checkKeyLookup(edge, presented, nowMs());
  if (lookUp.kind === 'error') return lookUp;
  const question = { id: request.id, digests };
  const answer = await requestWithRetry((to) => ask(question, to), edge.replicas, nowMs).catch(() => null);
  if (answer !== null) recordKeyOutcome(edge, presented, answer);
  return answer;
}

export type PresentedKey =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'missing' }
  /** Two Bearer headers, or two x-api-key headers. */
  | { readonly kind: 'ambiguous' };

const BEARER = /^bearer(?=[ \t])/i;

/**
 * The key that a request presents (specification, Authentication). A Bearer token takes precedence
 * over x-api-key. Another scheme is ignored; an empty Bearer counts as absent.
 */
export function readPresentedKey(headers: ClientHeaders): PresentedKey {
  if (headers.hasTwoAuthorizations) return { kind: 'ambiguous' };
  const bearer = headers.authorization === null ? '' : parseBearer(headers.authorization);
  if (bearer !== '') return { kind: 'key', key: bearer };
  if (headers.hasTwoApiKeys) return { kind: 'ambiguous' };
  const apiKey = headers.apiKey?.trim() ?? '';
  return apiKey === '' ? { kind: 'missing' } : { kind: 'key', key: apiKey };
}

/** The text after `Bearer`; empty if it is missing or the scheme is another one. */
export function parseBearer(authorization: string): string {
  return BEARER.test(authorization) ? authorization.slice('bearer'.length).trim() : '';
}
