import { OPERATOR_ERRORS, type OperatorErrorCode } from '@gateway/contracts/operator';
import { counter, histogram } from '@gateway/service-kit';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export interface OperatorMetrics {
  answered(routeId: string, status: number, tookSeconds: number): void;
  refused(code: OperatorErrorCode): void;
}

/** Statuses are counted by class: routes times statuses would be more series than a metric may have. */
export function makeOperatorMetrics(routeIds: readonly string[]): OperatorMetrics {
  const requests = counter('gateway_operator_requests_total', 'Requests of the operator API', {
    route: routeIds,
    status: ['2xx', '4xx', '5xx'],
  });
  const refusals = counter('gateway_operator_refusals_total', 'Refused requests of the operator API', {
    code: Object.keys(OPERATOR_ERRORS) as OperatorErrorCode[],
  });
  const seconds = histogram('gateway_operator_request_seconds', 'Time until an answer of the operator API', SECONDS);
  return {
    answered(routeId, status, tookSeconds) {
      requests.of({ route: routeId, status: `${Math.floor(status / 100)}xx` as '2xx' | '4xx' | '5xx' }).add();
      seconds.observe(tookSeconds);
    },
    refused: (code) => refusals.of({ code }).add(),
  };
}
