import type { Bus } from '@gateway/bus';
import {
  billingKeyMonths,
  billingRefusedCall,
  billingRefusedCalls,
  billingUsageRecord,
  billingUsageRecords,
  billingUsageSeries,
  callsRefused,
} from '@gateway/contracts/messages';
import type { UsageHoursStore } from './hours-store.js';
import { recordRefusedCalls, showRefusedCall, showRefusedCalls } from './refused-calls.js';
import type { RefusedStore } from './refused-store.js';
import { showKeyMonths, showUsageSeries } from './show-series.js';
import { showUsageRecord, showUsageRecords } from './show-records.js';
import type { RecordStore } from './store.js';

export interface RecordDeps {
  readonly records: RecordStore;
  readonly hours: UsageHoursStore;
  readonly refused: RefusedStore;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly log: { warn(fields: object, text: string): void };
}

/**
 * Serves the requests for usage records, hours of use and refused calls. Stores the refused calls
 * that admission publishes.
 */
export function serveRecords(
  bus: Pick<Bus, 'serve' | 'subscribe'>,
  { records, hours, refused, now, log }: RecordDeps,
): void {
  bus.serve(billingUsageRecord, ({ requestId }) => showUsageRecord(records, requestId));
  bus.serve(billingUsageRecords, (body) => showUsageRecords(records, body));
  bus.serve(billingUsageSeries, (body) => showUsageSeries(hours, body));
  bus.serve(billingKeyMonths, (body) => showKeyMonths(hours, body));
  bus.serve(billingRefusedCalls, (body) => showRefusedCalls(refused, body));
  bus.serve(billingRefusedCall, (body) => showRefusedCall(refused, body));
  bus.subscribe(callsRefused, (body) =>
    recordRefusedCalls(refused, body, now()).catch((err: unknown) => {
      log.warn({ err, rows: body.rows.length }, 'counts of refused requests could not be stored');
    }),
  );
}
