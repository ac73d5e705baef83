import { BusFault } from '@gateway/bus';
import { refuse } from '@gateway/contracts/operator';
import type { PageErrorCode } from '@gateway/contracts/pages';
import type { Logger } from '@gateway/service-kit';

/**
 * A refusal as either API answers it; those of the services have the same form, and fewer codes.
 */
export interface Refusal {
  readonly refused: { readonly code: PageErrorCode; readonly message: string; readonly param: string | null };
  /** Sent as `Retry-After`: refused at this moment only. */
  readonly retryAfterSeconds?: number;
  /** Fields beside `error`, which the route states in `refusedWith`. */
  readonly beside?: object;
  /** The answer to an earlier request with the same idempotency key. */
  readonly replayed?: boolean;
}

/** `isRefusal` of the contracts, for what is answered. */
export function isRefused(value: object): value is Refusal {
  return 'refused' in value;
}

/** There is no room for the request now. */
export function refuseForNow(message = 'too many requests are being answered; try again shortly'): Refusal {
  return { ...refuse('dependency_unavailable', message), retryAfterSeconds: 1 };
}

export const REQUEST_ID_HEADER = 'x-gateway-request-id';

/** The body of every answer that is not a success. */
export function errorBody({ refused, beside }: Refusal, requestId: string) {
  return { error: { ...refused, request_id: requestId }, ...beside };
}

/** As bytes, for a connection that holds no readable request. */
export function brokenRequestAnswer(requestId: string): string {
  const body = JSON.stringify(
    errorBody(refuse('invalid_request', 'this is no HTTP request that can be read'), requestId),
  );
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

/** Codes that say that a message or its handler was wrong, not that nobody answered. */
const MISTAKES = new Set(['invalid_message', 'fault', 'forbidden']);

/**
 * What a fault becomes for people and operators; nothing of its text leaves. A value that a
 * database cannot take is the request's own fault. A message of ours that a service refused, or a
 * handler that failed, is a mistake of ours, which no repeat mends.
 */
export function refusalOfFault(log: Logger, err: unknown, requestId: string): Refusal {
  if (err instanceof BusFault && err.code === 'too_large') {
    return refuse('invalid_request', 'too much for one request: ask for fewer with limit, or split what you send');
  }
  if (err instanceof BusFault && err.code === 'invalid_value') {
    log.warn({ requestId, cause: err.message }, 'a value reached a database that cannot store it');
    return refuse(
      'invalid_request',
      'a value of the request cannot be stored; look for unusual characters and numbers',
    );
  }
  if (!(err instanceof BusFault) || MISTAKES.has(err.code)) {
    log.error({ requestId, err }, 'a request failed inside the gateway');
    return refuse('internal_error', 'the gateway failed at this request; the request id finds the cause in its logs');
  }
  log.warn({ requestId, fault: err.code, cause: err.message }, 'a service did not answer');
  return refuse(
    'dependency_unavailable',
    'a part of the gateway that this needs did not answer; a change may have been made all the same',
  );
}
