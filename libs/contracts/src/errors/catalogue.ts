import { internal, limited } from './error-entry.js';
import type { ErrorEntry } from './error-entry.js';
import { REFUSALS } from './refusals.js';

const upstream = { chatType: 'api_error', messagesType: 'api_error', retry: 'with_backoff' } as const;

/**
 * All error codes that clients can get, each listed once (specification, Errors): the refusals,
 * then internal and provider errors. A test compares them with the specification's table.
 */
export const ERROR_CATALOGUE = {
  ...REFUSALS,
  upstream_auth_error: {
    statuses: [401, 403],
    chatType: 'gateway_error',
    messagesType: 'api_error',
    retry: 'no',
    text: "The model's provider refused the gateway's own credentials. Your API key is fine; tell the operator of this gateway.",
    remedy: "Your key is valid, but the provider rejects the gateway's. Notify the operator, or use another model.",
  },
  rate_limit_exceeded: {
    ...limited,
    retry: 'after_retry_after',
    text: "The model's provider limits the rate of requests. Try again later.",
    remedy: 'The provider is limiting requests. Wait, or use another model.',
  },
  lookup_failed: {
    ...internal,
    text: 'The API key could not be looked up. Try again.',
    remedy: 'Retry. Your key or ID could not be checked; it may be valid.',
  },
  admission_error: {
    ...internal,
    text: 'The request could not be checked against its limits. Try again.',
    remedy: 'Retry. Nothing was billed.',
  },
  catalog_error: {
    ...internal,
    text: 'The model catalog could not be read. Try again.',
    remedy: 'Retry. The models could not be read.',
  },
  usage_unavailable: {
    ...internal,
    text: 'The usage numbers could not be read. Try again.',
    remedy: 'Retry. Only the usage values are missing.',
  },
  upstream_unreachable: {
    ...upstream,
    statuses: [502],
    text: 'No provider of this model could be reached.',
    remedy: 'Retry, or use another model.',
  },
  upstream_error: {
    ...upstream,
    statuses: [502, 500, 501, 503, 504, 505, 520, 521, 522, 523, 524, 525, 526, 527, 529, 530],
    text: "The model's provider failed to answer this request.",
    remedy: "Retry, or use another model. The status is the provider's.",
  },
  upstream_timeout: {
    ...upstream,
    statuses: [504],
    messagesType: 'timeout_error',
    text: "The model's provider did not answer in time, or the connection to it broke.",
    remedy: 'Retry. Request a shorter output, or stream it.',
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERROR_CATALOGUE;

export function findCatalogueEntry(code: ErrorCode): ErrorEntry {
  return ERROR_CATALOGUE[code];
}
