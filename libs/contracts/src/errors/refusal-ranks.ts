import type { ErrorCode } from './catalogue.js';

/**
 * The order of refusals: if several refusals apply, the response is the one with the lowest rank
 * (docs/behaviour.md#order-of-refusals). Messages carry the rank; code names it by `REFUSAL`.
 */
export const REFUSAL_RANKS = [
  { rank: 1, codes: ['unsupported_endpoint'] },
  { rank: 2, codes: ['anthropic_protocol_disabled'] },
  { rank: 3, codes: ['missing_api_key'] },
  { rank: 4, codes: ['invalid_api_key'] },
  { rank: 5, codes: ['key_inactive', 'key_expired', 'account_suspended'] },
  { rank: 6, codes: ['rate_limited'] },
  { rank: 7, codes: ['request_entity_too_large'] },
  { rank: 8, codes: ['invalid_request'] },
  { rank: 9, codes: ['model_not_found'] },
  { rank: 10, codes: ['model_not_allowed_on_key'] },
  { rank: 11, codes: ['endpoint_not_supported_for_model'] },
  { rank: 12, codes: ['model_not_available'] },
  { rank: 13, codes: ['model_not_priced'] },
  { rank: 14, codes: ['no_upstream_available'] },
  { rank: 15, codes: ['outstanding_debt'] },
  { rank: 16, codes: ['no_funding'] },
  { rank: 17, codes: ['tier_permission_denied'] },
  { rank: 18, codes: ['concurrency_limit'] },
  { rank: 19, codes: ['window_exhausted'] },
  { rank: 20, codes: ['model_limit_reached'] },
  { rank: 21, codes: ['insufficient_credits'] },
  { rank: 22, codes: ['member_cap_reached'] },
  { rank: 23, codes: ['monthly_spend_cap_exceeded'] },
] as const satisfies readonly { rank: number; codes: readonly ErrorCode[] }[];

type RankEntry = (typeof REFUSAL_RANKS)[number];

export type RefusalRank = RankEntry['rank'];

/** The error codes of refusals. */
export type RefusalCode = RankEntry['codes'][number];

/**
 * The rank of each code. Three codes share a rank: they refuse a key or an account that may not
 * send requests.
 */
export const REFUSAL = Object.fromEntries(
  REFUSAL_RANKS.flatMap(({ rank, codes }) => codes.map((code) => [code, rank])),
) as { readonly [R in RankEntry as R['codes'][number]]: R['rank'] };
