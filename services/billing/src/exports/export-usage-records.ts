import type { AnswerBodyOf, billingExportUsageRecords, ReceivedOf } from '@gateway/contracts/messages';
import type { UsageRecordLine } from '@gateway/contracts/operator';
import { formatUsd } from '@gateway/metering';
import type { ExportedRecord, ExportStore } from '../operator-ports.js';
import { toRecordView } from '../records/views.js';
import { USAGE_RECORD_COLUMNS } from './columns.js';
import { EXPORT_LINES_MAX, makePage } from './page.js';

/**
 * One page of usage records as a file, in the order of their ids, which is that of admission. A record stands in the file if it
 * was settled when its page was read. What is settled later stands in what is read later, once, if its id lies
 * behind the cursor; if not, it stands in a file that begins anew and in none that goes on.
 */
export async function exportUsageRecords(
  store: Pick<ExportStore, 'records'>,
  { account, from, to, after, format }: ReceivedOf<typeof billingExportUsageRecords>,
): Promise<AnswerBodyOf<typeof billingExportUsageRecords>> {
  const found = await store.records({ account, from, to, after, limit: EXPORT_LINES_MAX + 1 });
  return makePage(found.slice(0, EXPORT_LINES_MAX).map(toLine), {
    format,
    columns: USAGE_RECORD_COLUMNS,
    idOf: ({ requestId }) => requestId,
    first: after === null,
    more: found.length > EXPORT_LINES_MAX,
  });
}

function toLine({ record, recordedAt }: ExportedRecord): UsageRecordLine {
  return {
    ...toRecordView(record),
    attempts: record.attempts.map(({ source, outcome, status, possiblyPaid, provider, costVersion, costNanoUsd }) => ({
      sourceId: source,
      outcome,
      status,
      possiblyPaid,
      providerId: provider,
      costVersion,
      costUsd: costNanoUsd === null ? null : formatUsd(costNanoUsd),
    })),
    recordedAt: recordedAt.toISOString(),
  };
}
