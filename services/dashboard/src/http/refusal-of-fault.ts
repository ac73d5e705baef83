import { BusFault } from '@gateway/bus';
import { refuse, type ManagementRefusal } from '@gateway/contracts/operator';
import type { Logger } from '@gateway/service-kit';

/** Codes that say that a message or its handler was wrong, not that nobody answered. */
const MISTAKES = new Set(['invalid_message', 'fault', 'forbidden']);

/**
 * What a fault becomes for people and operators; nothing of its text leaves. A value that a database cannot take is the request's own
 * fault. A message of ours that a service refused, or a handler that failed, is a mistake of ours, which no repeat mends.
 */
export function refusalOfFault(log: Logger, err: unknown, requestId: string): ManagementRefusal {
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
