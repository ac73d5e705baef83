import { findCatalogueEntry } from './catalogue.js';
import type { GatewayError } from './gateway-error.js';

/**
 * Formats the chat envelope as JSON text. Only `unsupported_endpoint` has no `request_id`
 * (specification, Error object).
 */
export function chatErrorBody(error: GatewayError, requestId: string): string {
  return JSON.stringify({ error: chatErrorObject(error, requestId) });
}

/**
 * Builds the inner object of the chat envelope, which is also the payload of an error event in an
 * interrupted stream.
 */
export function chatErrorObject(error: GatewayError, requestId: string): Record<string, unknown> {
  return {
    message: error.message,
    type: findCatalogueEntry(error.code).chatType,
    code: error.code,
    param: error.param,
    ...(error.code === 'unsupported_endpoint' ? {} : { request_id: requestId }),
  };
}

/**
 * Formats an error of the messages endpoints as JSON text: type, error with type, message, code and
 * details, request_id (specification, Errors).
 */
export function messagesErrorBody(error: GatewayError, requestId: string): string {
  return JSON.stringify({
    type: 'error',
    error: {
      type: messagesErrorType(error),
      message: error.message,
      code: error.code,
      details: { error_code: error.code },
    },
    request_id: requestId,
  });
}

/** Returns Retry-After and x-should-retry if the error has them. */
export function errorHeaders(error: GatewayError): Record<string, string> {
  const headers: Record<string, string> = {};
  if (error.retryAfterSeconds !== undefined) headers['retry-after'] = String(error.retryAfterSeconds);
  if (error.shouldRetry === false) headers['x-should-retry'] = 'false';
  return headers;
}

function messagesErrorType(error: GatewayError): string {
  if (error.code === 'upstream_error' && (error.status === 503 || error.status === 529)) return 'overloaded_error';
  return findCatalogueEntry(error.code).messagesType;
}
