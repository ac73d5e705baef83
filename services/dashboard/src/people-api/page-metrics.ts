import { counter, histogram } from '@gateway/service-kit';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export interface PageMetrics {
  answered(routeId: string, status: number, tookSeconds: number): void;
  /** A page broke its content security policy. */
  policyBroken(): void;
}

/** Statuses are counted by class: routes times statuses would be more series than a metric may have. */
export function makePageMetrics(routeIds: readonly string[]): PageMetrics {
  const requests = counter('gateway_dashboard_requests_total', "Requests of the pages' API", {
    route: routeIds,
    status: ['2xx', '4xx', '5xx'],
  });
  const seconds = histogram('gateway_dashboard_request_seconds', "Time until an answer of the pages' API", SECONDS);
  const reports = counter('gateway_dashboard_csp_reports_total', 'Reports of broken content security policies');
  return {
    answered(routeId, status, tookSeconds) {
      requests.of({ route: routeId, status: `${Math.floor(status / 100)}xx` as '2xx' | '4xx' | '5xx' }).add();
      seconds.observe(tookSeconds);
    },
    policyBroken: () => reports.add(),
  };
}
