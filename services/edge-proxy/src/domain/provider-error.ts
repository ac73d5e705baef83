import { gatewayError } from '@gateway/contracts/errors';
import type { GatewayError } from '@gateway/contracts/errors';
import type { EndpointStyle } from './endpoints.js';
import { providerMessage } from './provider-message.js';

const REJECTED = "The model's provider rejected the request body.";
const CONTEXT_TOO_LONG = 'prompt is too long for this model';
const CONTEXT_TOO_LONG_WORDS =
  /context[ _-]?(?:length|window)|maximum context|prompt is too long|too many (?:input )?tokens|input is too long/i;

/** Whether the text of an answer of this status is looked at: the body of any other needs no waiting for. */
export function readsErrorText(status: number): boolean {
  return status === 400 || status === 422;
}

/**
 * What the client gets for a provider's final status other than 200 (behaviour §3, table). The texts are ours, one per
 * class; only 400 and 422 on chat-style endpoints show the provider's.
 * @param body the beginning of the answer's body; null when it cannot be read
 * @param retryAfterSeconds of a 429, if the provider sent one
 */
export function statusError(
  status: number,
  style: EndpointStyle,
  body: Buffer | null,
  retryAfterSeconds: number | undefined,
): GatewayError {
  switch (status) {
    case 400:
    case 422:
      return gatewayError('invalid_request', rejectedText(style, body));
    case 401:
      return gatewayError('upstream_auth_error', undefined, { status: 401 });
    case 402:
    case 403:
      return gatewayError('upstream_auth_error', undefined, { status: 403 });
    case 404:
      return gatewayError('model_not_found', "The model's provider does not know this model.", { param: 'model' });
    case 408:
    case 425:
      return gatewayError('upstream_timeout');
    case 413:
      return gatewayError('request_entity_too_large', "The request is too large for the model's provider.");
    case 429:
      return gatewayError('rate_limit_exceeded', undefined, { retryAfterSeconds });
    default:
      return otherStatusError(status);
  }
}

function otherStatusError(status: number): GatewayError {
  if (status >= 500 && status <= 599) return gatewayError('upstream_error', undefined, { status });
  if (status >= 400 && status <= 499) return gatewayError('invalid_request', REJECTED);
  return gatewayError('upstream_error', "The model's provider sent an answer that cannot be passed on.");
}

function rejectedText(style: EndpointStyle, body: Buffer | null): string {
  const message = body === null ? null : providerMessage(body);
  if (message === null) return REJECTED;
  if (style === 'chat') return message;
  return CONTEXT_TOO_LONG_WORDS.test(message) ? CONTEXT_TOO_LONG : REJECTED;
}
