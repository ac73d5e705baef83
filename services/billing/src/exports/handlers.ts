import type { Bus } from '@gateway/bus';
import {
  type AnswerBodyOf,
  billingExportLedgerEntries,
  billingExportUsageRecords,
  type ReceivedOf,
  USAGE_FILE_COLUMNS,
} from '@gateway/contracts/messages';
import type { LedgerEntryLine, UsageRecordLine } from '@gateway/contracts/operator';
import { formatUsd } from '@gateway/metering';
import { toRecordView } from '../records/show-records.js';
import { type Column, EXPORT_LINES_MAX, makePage, plain, text } from './page.js';
import type { ExportedEntry, ExportedRecord, ExportStore } from './store.js';

/**
 * Returns one page of usage records as a file, ordered by ID, which is the order of admission. A
 * page contains the records that were settled when it was read. A record that is settled later
 * appears once in a later page if its ID is after the cursor. Otherwise only a new export contains
 * it.
 */
export async function exportUsageRecords(
  store: Pick<ExportStore, 'records'>,
  { account, from, to, after, format }: ReceivedOf<typeof billingExportUsageRecords>,
): Promise<AnswerBodyOf<typeof billingExportUsageRecords>> {
  const found = await store.records({ account, from, to, after, limit: EXPORT_LINES_MAX + 1 });
  return makePage(found.slice(0, EXPORT_LINES_MAX).map(toRecordLine), {
    format,
    columns: USAGE_FILE_COLUMNS,
    idOf: ({ requestId }) => requestId,
    first: after === null,
    more: found.length > EXPORT_LINES_MAX,
  });
}

function toRecordLine({ record, recordedAt }: ExportedRecord): UsageRecordLine {
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

/**
 * Returns one page of ledger entries as a file, ordered by transaction ID and position in the
 * transaction. As for usage records, a page contains the entries that were posted when it was read.
 * The ID of a transaction contains the time of its call; for a wallet entry, the time of the entry.
 */
export async function exportLedgerEntries(
  store: Pick<ExportStore, 'entries'>,
  { account, from, to, after, format }: ReceivedOf<typeof billingExportLedgerEntries>,
): Promise<AnswerBodyOf<typeof billingExportLedgerEntries>> {
  const [transaction, ordinal] = after === null ? [null, 0] : parseEntryCursor(after);
  const place = transaction === null ? null : { transaction, ordinal };
  const found = await store.entries({ account, from, to, after: place, limit: EXPORT_LINES_MAX + 1 });
  return makePage(found.slice(0, EXPORT_LINES_MAX).map(toEntryLine), {
    format,
    columns: LEDGER_ENTRY_COLUMNS,
    idOf: ({ entryId }) => entryId,
    first: after === null,
    more: found.length > EXPORT_LINES_MAX,
  });
}

function parseEntryCursor(after: string): [string, number] {
  const [transaction = '', ordinal] = after.split('.');
  return [transaction, Number(ordinal)];
}

function toEntryLine(entry: ExportedEntry): LedgerEntryLine {
  const { transactionId, ordinal, kind, account, requestId, corrects, ledgerAccount, amountNanoUsd, postedAt } = entry;
  const { reference, reason, relatesTo, actor } = entry;
  return {
    entryId: `${transactionId}.${ordinal}`,
    transactionId,
    kind,
    accountId: account,
    requestId,
    corrects,
    ledgerAccount,
    amountUsd: formatUsd(amountNanoUsd),
    at: postedAt.toISOString(),
    reference,
    reason,
    relatesTo,
    actor,
  };
}

export const LEDGER_ENTRY_COLUMNS: readonly Column<LedgerEntryLine>[] = [
  text('entryId', (line) => line.entryId),
  text('transactionId', (line) => line.transactionId),
  plain('kind', (line) => line.kind),
  text('accountId', (line) => line.accountId),
  text('requestId', (line) => line.requestId),
  text('corrects', (line) => line.corrects),
  text('ledgerAccount', (line) => line.ledgerAccount),
  plain('amountUsd', (line) => line.amountUsd),
  plain('at', (line) => line.at),
  text('reference', (line) => line.reference),
  text('reason', (line) => line.reason),
  text('relatesTo', (line) => line.relatesTo),
  text('actor', (line) => line.actor),
];

/** Serves the requests for export pages. */
export function serveExports(bus: Pick<Bus, 'serve'>, store: ExportStore): void {
  bus.serve(billingExportUsageRecords, (body) => exportUsageRecords(store, body));
  bus.serve(billingExportLedgerEntries, (body) => exportLedgerEntries(store, body));
}
