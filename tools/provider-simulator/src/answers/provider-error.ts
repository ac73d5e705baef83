import type { ProviderFormat } from './answer.js';

interface ErrorWords {
  message: string;
  openai: { type: string; code: string | null };
  anthropic: string;
}

const WORDS: Record<number, ErrorWords> = {
  400: words('The request is invalid.', 'invalid_request_error', null, 'invalid_request_error'),
  401: words('Incorrect API key provided.', 'invalid_request_error', 'invalid_api_key', 'authentication_error'),
  402: words('Your credit balance is too low.', 'insufficient_quota', 'insufficient_quota', 'billing_error'),
  403: words('You may not use this model.', 'invalid_request_error', 'model_not_allowed', 'permission_error'),
  404: words('The model does not exist.', 'invalid_request_error', 'model_not_found', 'not_found_error'),
  405: words(
    'This method is not allowed here.',
    'invalid_request_error',
    'method_not_supported',
    'invalid_request_error',
  ),
  408: words('The request timed out.', 'server_error', 'request_timeout', 'timeout_error'),
  413: words('The request is too large.', 'invalid_request_error', 'request_too_large', 'request_too_large'),
  422: words('The request cannot be processed.', 'invalid_request_error', null, 'invalid_request_error'),
  429: words('Rate limit reached, try again later.', 'requests', 'rate_limit_exceeded', 'rate_limit_error'),
  503: words('The server is overloaded, try again later.', 'server_error', 'overloaded', 'overloaded_error'),
  504: words('The model did not answer in time.', 'server_error', 'timeout', 'timeout_error'),
  529: words('Overloaded', 'server_error', 'overloaded', 'overloaded_error'),
};
const CLIENT_FAULT = words('The request was refused.', 'invalid_request_error', null, 'invalid_request_error');
const SERVER_FAULT = words('The server had an error.', 'server_error', null, 'api_error');

/** Returns the provider's error body for a status, optionally with another message. */
export function providerError(
  format: ProviderFormat,
  status: number,
  id: string,
  detail?: { message: string; param: string | null },
): string {
  const words = WORDS[status] ?? (status < 500 ? CLIENT_FAULT : SERVER_FAULT);
  const message = detail?.message ?? words.message;
  if (format === 'anthropic') {
    return JSON.stringify({ type: 'error', error: { type: words.anthropic, message }, request_id: `req_${id}` });
  }
  return JSON.stringify({ error: { message, ...words.openai, param: detail?.param ?? null } });
}

function words(message: string, type: string, code: string | null, anthropic: string): ErrorWords {
  return { message, openai: { type, code }, anthropic };
}
