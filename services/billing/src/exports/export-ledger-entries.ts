import type { AnswerBodyOf, billingExportLedgerEntries, ReceivedOf } from '@gateway/contracts/messages';
import type { LedgerEntryLine } from '@gateway/contracts/operator';
import { formatUsd } from '@gateway/metering';
import type { ExportedEntry, ExportStore } from '../operator-ports.js';
import { LEDGER_ENTRY_COLUMNS } from './columns.js';
import { EXPORT_LINES_MAX, makePage } from './page.js';

/**
 * One page of ledger entries as a file, in the order of their transactions' ids and their place in them. The same rule of time as
 * for usage records: a transaction has the time of its call or, of a wallet entry, of its making.
 */
export async function exportLedgerEntries(
  store: Pick<ExportStore, 'entries'>,
  { account, from, to, after, format }: ReceivedOf<typeof billingExportLedgerEntries>,
): Promise<AnswerBodyOf<typeof billingExportLedgerEntries>> {
  const [transaction, ordinal] = after === null ? [null, 0] : placeOf(after);
  const place = transaction === null ? null : { transaction, ordinal };
  const found = await store.entries({ account, from, to, after: place, limit: EXPORT_LINES_MAX + 1 });
  return makePage(found.slice(0, EXPORT_LINES_MAX).map(toLine), {
    format,
    columns: LEDGER_ENTRY_COLUMNS,
    idOf: ({ entryId }) => entryId,
    first: after === null,
    more: found.length > EXPORT_LINES_MAX,
  });
}

function placeOf(after: string): [string, number] {
  const [transaction = '', ordinal] = after.split('.');
  return [transaction, Number(ordinal)];
}

function toLine(entry: ExportedEntry): LedgerEntryLine {
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
