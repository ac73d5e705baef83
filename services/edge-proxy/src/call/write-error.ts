import { chatErrorBody, errorHeaders, messagesErrorBody, type GatewayError } from '@gateway/contracts/errors';
import type { EndpointStyle } from '../domain/endpoints.js';
import type { ClientAnswer } from '../ports.js';

/** A complete JSON answer. */
export function writeJson(answer: ClientAnswer, status: number, text: string, headers: readonly string[] = []): void {
  const bytes = Buffer.from(text);
  answer.begin(status, ['content-type', 'application/json', 'content-length', String(bytes.length), ...headers]);
  answer.end(bytes);
}

/**
 * An error in the envelope of its endpoint (behaviour §1, Envelopes). On the messages endpoints a header `request-id`
 * carries the gateway's id too: their client library reads it.
 */
export function writeError(answer: ClientAnswer, error: GatewayError, requestId: string, style: EndpointStyle): void {
  const headers = Object.entries(errorHeaders(error)).flat();
  if (style === 'chat') return writeJson(answer, error.status, chatErrorBody(error, requestId), headers);
  writeJson(answer, error.status, messagesErrorBody(error, requestId), [...headers, 'request-id', requestId]);
}
