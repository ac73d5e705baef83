import { forbidden, invalid, limited, notFound, unauthenticated, unpaid } from './error-entry.js';
import type { RefusalEntry } from './error-entry.js';
import {
  PLAYGROUND_RATE_TEXT,
  formatAmounts,
  formatRate,
  formatRenewal,
  formatRequestedModel,
  formatRunning,
  formatUnpriced,
} from './refusal-texts.js';

/**
 * All refusals in their order: if several apply to a request, the response is the first of them
 * (docs/behaviour.md#order-of-refusals). Tests and documents derive the order from this list.
 */
export const REFUSALS = {
  unsupported_endpoint: {
    ...notFound,
    text: 'This path or method is not a supported endpoint.',
    remedy: 'Check method, path and base URL (with `/v1` for chat style, without it for messages style).',
    check: 'the method and path are an endpoint',
    explain: (_facts, { chatBaseUrl, messagesBaseUrl }) => [
      `Chat-completions clients use the base URL ${chatBaseUrl}, messages clients ${messagesBaseUrl} (without /v1).`,
    ],
  },
  anthropic_protocol_disabled: {
    ...notFound,
    text: 'The messages endpoints are disabled on this deployment.',
    remedy: 'This deployment has no messages endpoints. Use the chat style.',
    check: 'the messages endpoints are enabled on this deployment',
  },
  missing_api_key: {
    ...unauthenticated,
    text: 'No API key arrived. Send it as "Authorization: Bearer <API_KEY>" or as "x-api-key: <API_KEY>".',
    remedy: 'Send the key in `Authorization: Bearer` or `x-api-key`.',
    check: 'the request has a key',
  },
  invalid_api_key: {
    ...unauthenticated,
    text: 'The API key does not match any issued key. Check for typing errors, or whether the key was rotated.',
    remedy: 'Check the key for typing errors, and whether it was rotated: the old secret stops working immediately.',
    check: 'the key matches an issued secret; a malformed key is refused without a look-up',
  },
  key_inactive: {
    ...forbidden,
    text: 'This API key was revoked or is suspended.',
    remedy: 'The key was revoked or suspended. Create another key, or contact the operator.',
    check: 'the key is active',
  },
  key_expired: {
    ...forbidden,
    text: 'This API key has expired.',
    remedy: 'Use a new key.',
    check: 'the key has not expired',
  },
  account_suspended: {
    ...forbidden,
    text: 'This account is suspended.',
    remedy: 'Contact the operator.',
    check: 'the account is not suspended',
  },
  rate_limited: {
    ...limited,
    retry: 'after_retry_after',
    text: 'This key has reached its requests per minute.',
    remedy:
      'Wait for the next clock minute. More keys do not help, since the limit applies to the account. If the message mentions your network, the key was not checked: wait and retry.',
    check: 'requests per minute; the request is counted in the minute here',
    note: 'seconds left in the minute',
    ownText: ({ playground }) => (playground ? PLAYGROUND_RATE_TEXT : null),
    explain: formatRate,
  },
  request_entity_too_large: {
    statuses: [413],
    chatType: 'invalid_request_error',
    messagesType: 'request_too_large',
    retry: 'no',
    text: 'The request body is larger than 10 MB.',
    remedy: "Send less than 10 MB, or less than the provider's limit.",
    check: 'the body has at most 10,485,760 bytes, announced or counted',
  },
  invalid_request: {
    ...invalid,
    statuses: [400, 408, 431],
    text: 'The request is not valid.',
    remedy:
      'Correct the request. `param` names the field; the message explains the problem or quotes the provider. 408: the request arrived too slowly. 431: its headers are too large.',
    check: 'the body is a JSON object in UTF-8, with the right content type and field types',
    note: '`param` names the field',
  },
  model_not_found: {
    ...notFound,
    text: 'This model is not known or not active. GET /v1/models lists the models.',
    remedy:
      'Use an ID from `GET /v1/models`, with its `<publisher>/`. Without `param`: the provider does not have an object of the request, such as a file or an earlier response.',
    check: 'the model is in the catalog and active',
    param: () => 'model',
    explain: ({ model }) => (model === undefined ? [] : [formatRequestedModel(model)]),
  },
  model_not_allowed_on_key: {
    ...forbidden,
    text: 'This API key may not call this model.',
    remedy: "Use one of the key's allowed models, which the message lists, or a key without such a list.",
    check: "the key's allowed models contain it",
    note: 'lists them',
    param: () => 'model',
    explain: ({ allowedModels = [] }) => [`Allowed models: ${allowedModels.join(', ')}.`],
  },
  endpoint_not_supported_for_model: {
    ...invalid,
    text: 'No provider serving this model supports this endpoint.',
    remedy: 'Use one of the `endpoints` that `GET /v1/models` lists for the model.',
    check: "at least one of the model's sources, disabled ones included, serves the endpoint",
    param: () => 'model',
  },
  model_not_available: {
    ...invalid,
    text: 'This model cannot be served now. Choose another model from GET /v1/models.',
    remedy: 'Use another model. The operator has disabled this one for now.',
    check: 'the operator has not switched the model off',
    param: () => 'model',
  },
  model_not_priced: {
    statuses: [503],
    chatType: 'gateway_error',
    messagesType: 'api_error',
    retry: 'no',
    shouldRetry: false,
    text: 'This model has no price, so it cannot be billed.',
    remedy: 'If `param` names a field, remove it. Otherwise use another model. The operator has to set a price.',
    check: 'on billed endpoints, the model and everything that the request asks for have a price',
    note: '`param` names the field',
    param: ({ field }) => field ?? null,
    ownText: formatUnpriced,
  },
  no_upstream_available: {
    statuses: [503],
    chatType: 'gateway_error',
    messagesType: 'overloaded_error',
    retry: 'with_backoff',
    text: 'No upstream is configured for this model now.',
    remedy: 'Retry later, or use another model.',
    check: 'an enabled source serves the endpoint',
  },
  outstanding_debt: {
    ...unpaid,
    text: 'Earlier usage left a negative wallet balance.',
    remedy: 'Top up until the wallet balance is no longer negative.',
    check: 'the settled wallet is not negative',
    explain: (facts) => formatAmounts(facts),
  },
  no_funding: {
    ...unpaid,
    text: 'The account has no active plan and no wallet balance.',
    remedy: 'Subscribe to a plan, or top up the wallet.',
    check: 'a plan is active, or the settled wallet is above zero',
  },
  tier_permission_denied: {
    ...forbidden,
    billingLink: true,
    text: 'The plan does not include this model and the wallet has no balance.',
    remedy: 'The plan does not include the model. Top up the wallet, or change the plan.',
    check: 'the plan includes the model, or the settled wallet is above zero',
  },
  concurrency_limit: {
    ...limited,
    retry: 'after_retry_after',
    text: 'Too many requests are in flight.',
    remedy:
      'Wait until a running request ends, and send fewer at the same time. If the message shows a window, that window is nearly used up.',
    check: 'a concurrency slot is free',
    note: 'Retry-After 2',
    explain: formatRunning,
  },
  window_exhausted: {
    ...limited,
    retry: 'after_reset',
    shouldRetry: false,
    text: 'A usage window of the plan is used up.',
    remedy: 'Wait for the reset of the window, which `GET /v1/gateway/usage` shows, or change the plan.',
    check: 'plan-funded: no window is used up',
    note: 'the latest reset of several',
    explain: (facts) => formatAmounts(facts),
  },
  model_limit_reached: {
    ...limited,
    retry: 'after_reset',
    shouldRetry: false,
    text: "The plan's allotment for this model is used up; other models still work.",
    remedy: 'Use another model until the date in the message.',
    check: 'plan-funded: the allotment of this model is not used up',
    note: "the period's end",
    explain: (facts) => formatAmounts(facts, formatRenewal),
  },
  insufficient_credits: {
    ...unpaid,
    text: 'Plan credits and wallet together cannot cover this request.',
    remedy: 'Top up, or lower `max_tokens`. The message shows the available amount and the worst case of the request.',
    check: 'the funds cover the request: see [who pays](#who-pays)',
    explain: (facts) => formatAmounts(facts),
  },
  member_cap_reached: {
    ...unpaid,
    text: "This request could exceed the member's monthly cap.",
    remedy: "Ask the team's owner for a higher cap, lower `max_tokens`, or wait for the next month.",
    check: "the member's monthly cap covers the worst case",
    explain: (facts) => formatAmounts(facts),
  },
  monthly_spend_cap_exceeded: {
    ...forbidden,
    billingLink: true,
    text: "This request could exceed the API key's monthly spend cap. A smaller max_tokens may pass.",
    remedy: 'Lower `max_tokens`, use another key, or wait for the next month. The cap of a key cannot be changed.',
    check: "the key's monthly cap covers the worst case",
    explain: (facts) => formatAmounts(facts),
  },
} as const satisfies Record<string, RefusalEntry>;

/** The error codes of refusals. */
export type RefusalCode = keyof typeof REFUSALS;

/** The codes in the order of refusals. */
export const REFUSAL_CODES = Object.keys(REFUSALS) as readonly RefusalCode[];

/** The codes that admission decides about, in their order. The edge decides the ones before. */
export const ADMISSION_REFUSAL_CODES = REFUSAL_CODES.slice(REFUSAL_CODES.indexOf('invalid_api_key'));

const PLACES = new Map(REFUSAL_CODES.map((code, place) => [code, place]));

/** Refusals that the edge finds in a body and admission puts in their order. */
export const BODY_REFUSAL_CODES = ['request_entity_too_large', 'invalid_request'] as const satisfies RefusalCode[];

/** Whether a refusal comes before another one in the order of refusals. */
export function isBefore(code: RefusalCode, other: RefusalCode): boolean {
  return (PLACES.get(code) ?? 0) < (PLACES.get(other) ?? 0);
}
