import { BusFault } from '@gateway/bus';
import { refuse, type ManagementRefusal } from '@gateway/contracts/operator';
import type { Logger } from '@gateway/service-kit';

/** What a fault becomes at both doors: nothing of its text leaves. */
export function refusalOfFault(log: Logger, err: unknown, requestId: string): ManagementRefusal {
  if (err instanceof BusFault && err.code === 'too_large') {
    return refuse('invalid_request', 'too much for one request: ask for fewer with limit, or split what you send');
  }
  if (err instanceof BusFault) {
    log.warn({ requestId, fault: err.code, cause: err.message }, 'a service did not answer');
  } else log.error({ requestId, err }, 'a request failed inside the door');
  return refuse(
    'dependency_unavailable',
    'a part of the gateway that this needs did not answer; a change may have been made all the same',
  );
}
