import type { Bus } from '@gateway/bus';
import {
  billingKeyMonths,
  billingRefusedCall,
  billingRefusedCalls,
  billingUsageSeries,
  callsRefused,
} from '@gateway/contracts/messages';
import type { RefusedStore, StandingValuesStore, UsageHoursStore } from './insight-ports.js';
import { noteRefusedCalls } from './refused-calls.js';
import { showKeyMonths } from './show-key-months.js';
import { showRefusedCall, showRefusedCalls } from './show-refused-calls.js';
import { showUsageSeries } from './show-series.js';

export interface InsightDeps {
  readonly hours: UsageHoursStore;
  readonly standing: StandingValuesStore;
  readonly refused: RefusedStore;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly log: { warn(facts: object, text: string): void };
}

/** Opens the doors of what dashboards draw. */
export function serveInsights(
  bus: Pick<Bus, 'serve' | 'subscribe'>,
  { hours, standing, refused, now, log }: InsightDeps,
): void {
  bus.serve(billingUsageSeries, (body) => showUsageSeries(hours, body));
  bus.serve(billingKeyMonths, (body) => showKeyMonths(standing, body));
  bus.serve(billingRefusedCalls, (body) => showRefusedCalls(refused, body));
  bus.serve(billingRefusedCall, (body) => showRefusedCall(refused, body));
  bus.subscribe(callsRefused, (body) =>
    noteRefusedCalls(refused, body, now()).catch((err: unknown) => {
      log.warn({ err, rows: body.rows.length }, 'counts of refused calls are lost');
    }),
  );
}
