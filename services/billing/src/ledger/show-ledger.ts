import type {
  AnswerBodyOf,
  billingLedger,
  billingLedgerTransaction,
  billingTrialBalance,
  ReceivedOf,
} from '@gateway/contracts/messages';
import { isRefusal, refuse } from '@gateway/contracts/operator';
import { formatUsd } from '@gateway/metering';
import type { FinanceStore } from '../operator-ports.js';
import type { ShowStore } from '../ports.js';
import { toTransactionView } from '../records/views.js';
import { pageOf, readUuidCursor } from './page.js';
import { readMonth } from './read-month.js';

/** An account's ledger transactions, newest first; a month is that of the calls, whenever they were settled. */
export async function showLedger(
  store: Pick<ShowStore, 'transactions'>,
  { account, month, withoutCalls = false, cursor, limit }: ReceivedOf<typeof billingLedger>,
): Promise<AnswerBodyOf<typeof billingLedger>> {
  const place = readUuidCursor(cursor);
  if (isRefusal(place)) return place;
  const bounds = month === null ? { from: null, to: null } : readMonth(month);
  if (isRefusal(bounds)) return bounds;
  const query = { account, withoutCalls, from: bounds.from, to: bounds.to, before: place.after, limit: limit + 1 };
  const { items, nextCursor } = pageOf(await store.transactions(query), limit, {
    nameOf: ({ id }) => id,
    viewOf: toTransactionView,
  });
  return { transactions: items, nextCursor };
}

export async function showLedgerTransaction(
  store: Pick<ShowStore, 'transaction'>,
  { id }: ReceivedOf<typeof billingLedgerTransaction>,
): Promise<AnswerBodyOf<typeof billingLedgerTransaction>> {
  const transaction = await store.transaction(id);
  if (transaction === null) return refuse('not_found', 'no ledger transaction has this id');
  return { transaction: toTransactionView(transaction) };
}

/** All ledger accounts by class, from one snapshot: their total is zero, or the ledger is broken. */
export async function showTrialBalance(
  store: Pick<FinanceStore, 'balances'>,
  { asOf }: ReceivedOf<typeof billingTrialBalance>,
  now: number,
): Promise<AnswerBodyOf<typeof billingTrialBalance>> {
  const balances = await store.balances(asOf);
  const total = balances.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n);
  return {
    trialBalance: {
      asOf: new Date(asOf ?? now).toISOString(),
      accounts: balances.map(({ name, amountNanoUsd }) => ({
        ledgerAccount: name,
        amountUsd: formatUsd(amountNanoUsd),
      })),
      totalUsd: formatUsd(total),
    },
  };
}
