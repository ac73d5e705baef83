import { gatewayError } from '@gateway/contracts/errors';
import type { GatewayError } from '@gateway/contracts/errors';
import type { EndpointStyle } from '../formats/endpoints.js';
import type { ClassifiedError } from './error-class.js';
import { cleanMessage } from './provider-message.js';
import { findRecoveryText } from './recovery-text.js';
import type { ReportedError } from './reported-error.js';

const REJECTED = "The model's provider rejected the request body.";
const MODERATED = "The model's provider refused this request for its content.";
const CANNOT_PASS = "The model's provider sent an answer that cannot be passed on.";

/** Statuses whose body has no further information, so that it is not awaited. */
const STATUSES_WITHOUT_DETAIL: ReadonlySet<number> = new Set([502, 503, 504, 529]);

/**
 * Returns whether the body of a response with this status is read, since its error may change the
 * consequences.
 */
export function shouldReadErrorBody(status: number): boolean {
  return status >= 400 && status <= 599 && !STATUSES_WITHOUT_DETAIL.has(status);
}

/**
 * Builds the client's error for a provider's error. The texts are the gateway's, one for each
 * class. Only the provider's text about a body (400, 422) is repeated, cleaned, on chat-style
 * endpoints.
 * @param retryAfterSeconds wait stated by the provider for a rate limit, if any
 */
export function buildClientError(
  { class: what, status }: ClassifiedError,
  style: EndpointStyle,
  reported: ReportedError | null,
  retryAfterSeconds: number | undefined,
): GatewayError {
  switch (what) {
    case 'body':
      if (status === 413) {
        return gatewayError('request_entity_too_large', "The request is too large for the model's provider.");
      }
      return gatewayError('invalid_request', bodyText(style, reported, REJECTED));
    case 'content':
      return gatewayError(
        'invalid_request',
        status === 400 || status === 422 ? bodyText(style, reported, MODERATED) : MODERATED,
      );
    case 'credential':
      return gatewayError('upstream_auth_error', undefined, { status: status === 403 ? 403 : 401 });
    case 'funds':
    case 'forbidden':
      return gatewayError('upstream_auth_error', undefined, { status: 403 });
    case 'model':
      if (status === 403) return gatewayError('upstream_auth_error', undefined, { status: 403 });
      return gatewayError('model_not_found', "The model's provider does not know this model.", { param: 'model' });
    case 'item':
      if (status === 400 || status === 422) return gatewayError('invalid_request', bodyText(style, reported, REJECTED));
      return gatewayError(
        'model_not_found',
        "The model's provider does not have an item, a file or an earlier response that the request refers to.",
      );
    case 'not_found':
      return gatewayError(
        'model_not_found',
        "The model's provider does not have this model, or an object that the request refers to.",
      );
    case 'quota':
      return gatewayError('rate_limit_exceeded', undefined, { retryAfterSeconds });
    case 'late':
      return gatewayError('upstream_timeout');
    case 'overload':
      return gatewayError('upstream_error', undefined, { status: status !== null && status >= 500 ? status : 502 });
    case 'unexpected':
      return gatewayError('invalid_request', REJECTED);
    case 'foreign':
      return gatewayError('upstream_error', CANNOT_PASS);
  }
}

function bodyText(style: EndpointStyle, reported: ReportedError | null, generic: string): string {
  const message = reported?.message ?? null;
  if (message === null) return generic;
  if (style === 'messages') return findRecoveryText(message) ?? generic;
  const cleaned = cleanMessage(message);
  return cleaned === '' ? generic : cleaned;
}
