import { BusFault } from '@gateway/bus';
import { refuse } from '@gateway/contracts/operator';
import type { PageErrorCode } from '@gateway/contracts/pages';
import type { Logger } from '@gateway/service-kit';

/** A refusal by either API. Refusals of services have the same form, with fewer codes. */
export interface Refusal {
  readonly refused: { readonly code: PageErrorCode; readonly message: string; readonly param: string | null };
  /** Sent as `Retry-After`, for temporary refusals. */
  readonly retryAfterSeconds?: number;
  /** Fields next to `error`; the route declares them in `refusedWith`. */
  readonly beside?: object;
  /** True if this repeats the response to an earlier request with the same idempotency key. */
  readonly replayed?: boolean;
}

/** Like `isRefusal` of the contracts, for `Refusal`. */
export function isRouteRefusal(value: object): value is Refusal {
  return 'refused' in value;
}

/** Refuses a request because of temporary overload. */
export function refuseForNow(message = 'too many requests are running; try again shortly'): Refusal {
  return { ...refuse('dependency_unavailable', message), retryAfterSeconds: 1 };
}

export const REQUEST_ID_HEADER = 'x-gateway-request-id';

export function errorBody({ refused, beside }: Refusal, requestId: string) {
  return { error: { ...refused, request_id: requestId }, ...beside };
}

/** Returns the raw bytes of a 400, for a connection without a readable request. */
export function formatMalformedResponse(requestId: string): string {
  const body = JSON.stringify(errorBody(refuse('invalid_request', 'the request is not valid HTTP'), requestId));
  const head = [
    'HTTP/1.1 400 Bad Request',
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `${REQUEST_ID_HEADER}: ${requestId}`,
    'cache-control: no-store',
    'connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

/** Codes for a wrong message or a failed handler, as opposed to a service that did not respond. */
const MISTAKES = new Set(['invalid_message', 'fault', 'forbidden']);

/**
 * Maps a fault to a refusal without exposing its text. A value that a database cannot store is the
 * client's fault. A message that a service rejected, or a failed handler, is a bug of the gateway
 * and a retry would not help.
 */
export function toRefusal(log: Logger, err: unknown, requestId: string): Refusal {
  if (err instanceof BusFault && err.code === 'too_large') {
    return refuse(
      'invalid_request',
      'the request or its response is too large; set a lower limit, or split the request',
    );
  }
  if (err instanceof BusFault && err.code === 'invalid_value') {
    log.warn({ requestId, cause: err.message }, 'a value reached a database that cannot store it');
    return refuse(
      'invalid_request',
      'a value of the request cannot be stored; check it for unusual characters and numbers',
    );
  }
  if (!(err instanceof BusFault) || MISTAKES.has(err.code)) {
    log.error({ requestId, err }, 'a request failed inside the gateway');
    return refuse(
      'internal_error',
      'the gateway failed to process this request; give the operator the request id, which is in the logs',
    );
  }
  log.warn({ requestId, fault: err.code, cause: err.message }, 'a service did not respond');
  return refuse(
    'dependency_unavailable',
    'a service of the gateway did not respond; check whether the change was made, then try again',
  );
}
