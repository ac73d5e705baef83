/** Types of the chat envelope (specification, Error object). */
export type ChatErrorType =
  | 'authentication_error'
  | 'permission_denied_error'
  | 'insufficient_quota'
  | 'rate_limit_error'
  | 'invalid_request_error'
  | 'api_error'
  | 'server_error'
  | 'gateway_error';

/** Types of the messages protocol (docs/behaviour.md#envelopes). */
export type MessagesErrorType =
  | 'authentication_error'
  | 'permission_error'
  | 'billing_error'
  | 'not_found_error'
  | 'request_too_large'
  | 'rate_limit_error'
  | 'invalid_request_error'
  | 'api_error'
  | 'overloaded_error'
  | 'timeout_error';

/** When a client may retry (specification, Retry guidance). */
export type RetryAdvice = 'after_retry_after' | 'with_backoff' | 'after_reset' | 'no';

interface Entry {
  /**
   * The statuses that the code may have. The first one is the default. `5xx` codes take the
   * provider's status.
   */
  readonly statuses: readonly number[];
  readonly chatType: ChatErrorType;
  readonly messagesType: MessagesErrorType;
  readonly retry: RetryAdvice;
  /** The default message. */
  readonly text: string;
  /** Whether the message ends with the link to billing. */
  readonly billingLink?: true;
  /**
   * False: the response forbids a retry, because official clients would sleep for days or overflow
   * a timer on Retry-After.
   */
  readonly shouldRetry?: false;
}

const invalid = { chatType: 'invalid_request_error', messagesType: 'invalid_request_error', retry: 'no' } as const;
const notFound = {
  statuses: [404],
  chatType: 'invalid_request_error',
  messagesType: 'not_found_error',
  retry: 'no',
} as const;
const unauthenticated = {
  statuses: [401],
  chatType: 'authentication_error',
  messagesType: 'authentication_error',
  retry: 'no',
} as const;
const forbidden = {
  statuses: [403],
  chatType: 'permission_denied_error',
  messagesType: 'permission_error',
  retry: 'no',
} as const;
const unpaid = {
  statuses: [402],
  chatType: 'insufficient_quota',
  messagesType: 'billing_error',
  retry: 'no',
  billingLink: true,
} as const;
const limited = { statuses: [429], chatType: 'rate_limit_error', messagesType: 'rate_limit_error' } as const;
const internal = {
  statuses: [500],
  chatType: 'server_error',
  messagesType: 'api_error',
  retry: 'with_backoff',
} as const;

/**
 * All error codes that clients can get, each listed once (specification, Errors). A test compares
 * them with the specification's table.
 */
export const ERROR_CATALOGUE = {
  invalid_request: { ...invalid, statuses: [400, 408, 431], text: 'The request is not valid.' },
  model_not_available: {
    ...invalid,
    statuses: [400],
    text: 'This model cannot be served now. Choose another model from GET /v1/models.',
  },
  endpoint_not_supported_for_model: {
    ...invalid,
    statuses: [400],
    text: 'No provider serving this model supports this endpoint.',
  },
  missing_api_key: {
    ...unauthenticated,
    text: 'No API key arrived. Send it as "Authorization: Bearer <API_KEY>" or as "x-api-key: <API_KEY>".',
  },
  invalid_api_key: {
    ...unauthenticated,
    text: 'The API key does not match any issued key. Check for typing errors, or whether the key was rotated.',
  },
  upstream_auth_error: {
    statuses: [401, 403],
    chatType: 'gateway_error',
    messagesType: 'api_error',
    retry: 'no',
    text: "The model's provider refused the gateway's own credentials. Your API key is fine; tell the operator of this gateway.",
  },
  insufficient_credits: { ...unpaid, text: 'Plan credits and wallet together cannot cover this request.' },
  no_funding: { ...unpaid, text: 'The account has no active plan and no wallet balance.' },
  outstanding_debt: { ...unpaid, text: 'Earlier usage left a negative wallet balance.' },
  member_cap_reached: { ...unpaid, text: "This request could exceed the member's monthly cap." },
  key_inactive: { ...forbidden, text: 'This API key was revoked or is suspended.' },
  key_expired: { ...forbidden, text: 'This API key has expired.' },
  account_suspended: { ...forbidden, text: 'This account is suspended.' },
  model_not_allowed_on_key: { ...forbidden, text: 'This API key may not call this model.' },
  monthly_spend_cap_exceeded: {
    ...forbidden,
    billingLink: true,
    text: "This request could exceed the API key's monthly spend cap. A smaller max_tokens may pass.",
  },
  tier_permission_denied: {
    ...forbidden,
    billingLink: true,
    text: 'The plan does not include this model and the wallet has no balance.',
  },
  model_not_found: { ...notFound, text: 'This model is not known or not active. GET /v1/models lists the models.' },
  unsupported_endpoint: { ...notFound, text: 'This path or method is not a supported endpoint.' },
  anthropic_protocol_disabled: { ...notFound, text: 'The messages endpoints are disabled on this deployment.' },
  request_entity_too_large: {
    statuses: [413],
    chatType: 'invalid_request_error',
    messagesType: 'request_too_large',
    retry: 'no',
    text: 'The request body is larger than 10 MB.',
  },
  rate_limited: { ...limited, retry: 'after_retry_after', text: 'This key has reached its requests per minute.' },
  concurrency_limit: { ...limited, retry: 'after_retry_after', text: 'Too many requests are in flight.' },
  window_exhausted: {
    ...limited,
    retry: 'after_reset',
    shouldRetry: false,
    text: 'A usage window of the plan is used up.',
  },
  model_limit_reached: {
    ...limited,
    retry: 'after_reset',
    shouldRetry: false,
    text: "The plan's allotment for this model is used up; other models still work.",
  },
  rate_limit_exceeded: {
    ...limited,
    retry: 'after_retry_after',
    text: "The model's provider limits the rate of requests. Try again later.",
  },
  lookup_failed: { ...internal, text: 'The API key could not be looked up. Try again.' },
  admission_error: { ...internal, text: 'The request could not be checked against its limits. Try again.' },
  catalog_error: { ...internal, text: 'The model catalog could not be read. Try again.' },
  usage_unavailable: { ...internal, text: 'The usage numbers could not be read. Try again.' },
  upstream_unreachable: {
    statuses: [502],
    chatType: 'api_error',
    messagesType: 'api_error',
    retry: 'with_backoff',
    text: 'No provider of this model could be reached.',
  },
  upstream_error: {
    statuses: [502, 500, 501, 503, 504, 505, 520, 521, 522, 523, 524, 525, 526, 527, 529, 530],
    chatType: 'api_error',
    messagesType: 'api_error',
    retry: 'with_backoff',
    text: "The model's provider failed to answer this request.",
  },
  no_upstream_available: {
    statuses: [503],
    chatType: 'gateway_error',
    messagesType: 'overloaded_error',
    retry: 'with_backoff',
    text: 'No upstream is configured for this model now.',
  },
  model_not_priced: {
    statuses: [503],
    chatType: 'gateway_error',
    messagesType: 'api_error',
    retry: 'no',
    shouldRetry: false,
    text: 'This model has no price, so it cannot be billed.',
  },
  upstream_timeout: {
    statuses: [504],
    chatType: 'api_error',
    messagesType: 'timeout_error',
    retry: 'with_backoff',
    text: "The model's provider did not answer in time, or the connection to it broke.",
  },
} as const satisfies Record<string, Entry>;

export type ErrorCode = keyof typeof ERROR_CATALOGUE;

export function findCatalogueEntry(code: ErrorCode): Entry {
  return ERROR_CATALOGUE[code];
}
