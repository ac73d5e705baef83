import type { AnswerBodyOf, billingLedger, ReceivedOf } from '@gateway/contracts/messages';
import { monthEnd, monthStart } from '@gateway/metering';
import type { ShowStore } from '../ports.js';
import { pageOf, readCursor } from './page.js';
import { toTransactionView } from './views.js';

/** An account's ledger transactions, newest first; a month is that of the calls, whenever they were settled. */
export async function showLedger(
  store: Pick<ShowStore, 'transactions'>,
  { account, month, cursor, limit }: ReceivedOf<typeof billingLedger>,
): Promise<AnswerBodyOf<typeof billingLedger>> {
  const transactions = await store.transactions({
    account,
    from: month === null ? null : monthStart(month),
    to: month === null ? null : monthEnd(month),
    before: readCursor(cursor),
    limit: limit + 1,
  });
  const { items, nextCursor } = pageOf(transactions, limit);
  return { transactions: items.map(toTransactionView), nextCursor };
}
