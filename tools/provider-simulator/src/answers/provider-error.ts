import type { Problem, ProviderFormat } from './answer.js';

type ErrorWords = readonly [message: string, type: string, code: string | null, anthropicType: string];

const INVALID = 'invalid_request_error';
const WORDS: Readonly<Record<number, ErrorWords>> = {
  400: ['The request is invalid.', INVALID, null, INVALID],
  401: ['Incorrect API key provided.', INVALID, 'invalid_api_key', 'authentication_error'],
  402: ['Your credit balance is too low.', 'insufficient_quota', 'insufficient_quota', 'billing_error'],
  403: ['You may not use this model.', INVALID, 'model_not_allowed', 'permission_error'],
  404: ['The model does not exist.', INVALID, 'model_not_found', 'not_found_error'],
  405: ['This method is not allowed here.', INVALID, 'method_not_supported', INVALID],
  408: ['The request timed out.', 'server_error', 'request_timeout', 'timeout_error'],
  413: ['The request is too large.', INVALID, 'request_too_large', 'request_too_large'],
  422: ['The request cannot be processed.', INVALID, null, INVALID],
  429: ['Rate limit reached, try again later.', 'requests', 'rate_limit_exceeded', 'rate_limit_error'],
  503: ['The server is overloaded, try again later.', 'server_error', 'overloaded', 'overloaded_error'],
  504: ['The model did not answer in time.', 'server_error', 'timeout', 'timeout_error'],
  529: ['Overloaded', 'server_error', 'overloaded', 'overloaded_error'],
};
const CLIENT_FAULT: ErrorWords = ['The request was refused.', INVALID, null, INVALID];
const SERVER_FAULT: ErrorWords = ['The server had an error.', 'server_error', null, 'api_error'];

/** Returns the provider's error body for a status, optionally with another message. */
export function providerError(format: ProviderFormat, status: number, id: string, detail?: Problem): string {
  const [usual, type, code, anthropicType] = WORDS[status] ?? (status < 500 ? CLIENT_FAULT : SERVER_FAULT);
  const message = detail?.message ?? usual;
  return JSON.stringify(
    format === 'anthropic'
      ? { type: 'error', error: { type: anthropicType, message }, request_id: `req_${id}` }
      : { error: { message, type, code, param: detail?.param ?? null } },
  );
}
