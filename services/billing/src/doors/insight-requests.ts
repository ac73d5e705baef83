import type { Bus } from '@gateway/bus';
import { billingRefusedCall, billingRefusedCalls, billingUsageSeries, callsRefused } from '@gateway/contracts/messages';
import type { RefusedStore, UsageHoursStore } from '../insight-ports.js';
import { noteRefusedCalls } from '../refused/note-refused-calls.js';
import { showRefusedCall, showRefusedCalls } from '../show/show-refused-calls.js';
import { showUsageSeries } from '../show/show-usage-series.js';

export interface InsightDeps {
  readonly hours: UsageHoursStore;
  readonly refused: RefusedStore;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly log: { warn(facts: object, text: string): void };
}

/** Opens the doors of what dashboards draw. */
export function serveInsights(bus: Pick<Bus, 'serve' | 'subscribe'>, { hours, refused, now, log }: InsightDeps): void {
  bus.serve(billingUsageSeries, (body) => showUsageSeries(hours, body));
  bus.serve(billingRefusedCalls, (body) => showRefusedCalls(refused, body));
  bus.serve(billingRefusedCall, (body) => showRefusedCall(refused, body));
  bus.subscribe(callsRefused, (body) =>
    noteRefusedCalls(refused, body, now()).catch((err: unknown) => {
      log.warn({ err, rows: body.rows.length }, 'counts of refused calls are lost');
    }),
  );
}
