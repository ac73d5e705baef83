import type { AnswerBodyOf, billingUsageRecord, billingUsageRecords, ReceivedOf } from '@gateway/contracts/messages';
import type { ShowStore } from '../ports.js';
import { pageOf, readCursor } from './page.js';
import { toRecordView, toTransactionView } from './views.js';

/** One usage record with the ledger transactions that it made. */
export async function showUsageRecord(
  store: Pick<ShowStore, 'record'>,
  requestId: string,
): Promise<AnswerBodyOf<typeof billingUsageRecord>> {
  const found = await store.record(requestId);
  if (found === null) return { refused: { code: 'not_found', message: 'no usage record has this id', param: null } };
  return { record: toRecordView(found.record), transactions: found.transactions.map(toTransactionView) };
}

/** Usage records by the time of their admission, newest first. A cursor that is none begins at the start. */
export async function showUsageRecords(
  store: Pick<ShowStore, 'records'>,
  { account, from, to, cursor, limit }: ReceivedOf<typeof billingUsageRecords>,
): Promise<AnswerBodyOf<typeof billingUsageRecords>> {
  const records = await store.records({ account, from, to, before: readCursor(cursor), limit: limit + 1 });
  const { items, nextCursor } = pageOf(records, limit);
  return { records: items.map(toRecordView), nextCursor };
}
