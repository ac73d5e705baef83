import type { AnswerBodyOf, billingUsageRecord, billingUsageRecords, ReceivedOf } from '@gateway/contracts/messages';
import { isRefusal, refuse } from '@gateway/contracts/operator';
import { pageOf, readUuidCursor } from '../ledger/page.js';
import type { ShowStore } from '../ports.js';
import { toRecordView, toTransactionView } from './views.js';

/** One usage record with the ledger transactions that it made. */
export async function showUsageRecord(
  store: Pick<ShowStore, 'record'>,
  requestId: string,
): Promise<AnswerBodyOf<typeof billingUsageRecord>> {
  const found = await store.record(requestId);
  if (found === null) return refuse('not_found', 'no usage record has this id');
  return { record: toRecordView(found.record), transactions: found.transactions.map(toTransactionView) };
}

/** Usage records by the time of their admission, newest first. */
export async function showUsageRecords(
  store: Pick<ShowStore, 'records'>,
  body: ReceivedOf<typeof billingUsageRecords>,
): Promise<AnswerBodyOf<typeof billingUsageRecords>> {
  const { account, from, to, key, member, model, outcome, requestId, cursor, limit } = body;
  const place = readUuidCursor(cursor);
  if (isRefusal(place)) return place;
  const records = await store.records({
    account,
    from,
    to,
    before: place.after,
    limit: limit + 1,
    key: key ?? null,
    member: member ?? null,
    model: model ?? null,
    outcome: outcome ?? null,
    requestId: requestId ?? null,
  });
  const { items, nextCursor } = pageOf(records, limit, { nameOf: ({ id }) => id, viewOf: toRecordView });
  return { records: items, nextCursor };
}
