import { counter, ThrottledLog, type Logger } from '@gateway/service-kit';
import type { AuthorizerParts } from './make-authorizer.js';

/** Failing requests for credentials of one kind are in the log at most once in this time. */
const FAILED_LOG_MS = 60_000;

/** Counts requests for credentials, and tells the operator of those that fail. */
export function watchRefreshes(log: Logger): AuthorizerParts['ended'] {
  const refreshes = counter(
    'gateway_edge_credential_refreshes_total',
    'Requests for credentials that expire, by outcome',
    { outcome: ['issued', 'failed'] },
  );
  const failed = new ThrottledLog(log, 'a credential that expires cannot be refreshed', { everyMs: FAILED_LOG_MS });
  return ({ type }, reason) => {
    refreshes.of({ outcome: reason === null ? 'issued' : 'failed' }).add();
    if (reason !== null) failed.warn({ auth: type, reason }, `${type} ${reason}`);
  };
}
