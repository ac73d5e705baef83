import { chatErrorBody, errorHeaders, messagesErrorBody, type GatewayError } from '@gateway/contracts/errors';
import type { EndpointStyle } from '../formats/endpoints.js';
import type { ClientResponse } from '../ports.js';

/** Writes a complete JSON response. */
export function writeJson(answer: ClientResponse, status: number, text: string, headers: readonly string[] = []): void {
  const bytes = Buffer.from(text);
  answer.begin(status, ['content-type', 'application/json', 'content-length', String(bytes.length), ...headers]);
  answer.end(bytes);
}

/** Writes an error in the envelope of its endpoint (docs/behaviour.md#envelopes). */
export function writeError(answer: ClientResponse, error: GatewayError, requestId: string, style: EndpointStyle): void {
  const headers = Object.entries(errorHeaders(error)).flat();
  writeJson(answer, error.status, formatErrorBody(error, requestId, style), headers);
}

/** Returns the envelope as text. */
export function formatErrorBody(error: GatewayError, requestId: string, style: EndpointStyle): string {
  return style === 'chat' ? chatErrorBody(error, requestId) : messagesErrorBody(error, requestId);
}
