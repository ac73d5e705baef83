import type { Bus } from '@gateway/bus';
import {
  type AnswerBodyOf,
  billingAudit,
  billingEraseOrigins,
  billingLedger,
  billingLedgerTransaction,
  type ReceivedOf,
} from '@gateway/contracts/messages';
import { type AuditEntryView, isRefusal, type LedgerTransactionView, refuse } from '@gateway/contracts/operator';
import { formatUsd } from '@gateway/metering';
import type { ChangesStore, WrittenChange } from './changes-store.js';
import { buildPage, readMonth, readNumberCursor, readUuidCursor } from './page.js';
import type { PostedTransaction, TransactionStore } from './transactions-store.js';

/**
 * Returns an account's ledger transactions, newest first. The month is the month of the calls,
 * independent of the time of their settlement.
 */
export async function showLedger(
  store: Pick<TransactionStore, 'transactions'>,
  { account, month, withoutCalls = false, cursor, limit }: ReceivedOf<typeof billingLedger>,
): Promise<AnswerBodyOf<typeof billingLedger>> {
  const place = readUuidCursor(cursor);
  if (isRefusal(place)) return place;
  const bounds = month === null ? { from: null, to: null } : readMonth(month);
  if (isRefusal(bounds)) return bounds;
  const query = { account, withoutCalls, from: bounds.from, to: bounds.to, before: place.after, limit: limit + 1 };
  const { items, nextCursor } = buildPage(await store.transactions(query), limit, {
    nameOf: ({ id }) => id,
    viewOf: toTransactionView,
  });
  return { transactions: items, nextCursor };
}

export async function showLedgerTransaction(
  store: Pick<TransactionStore, 'transaction'>,
  { id }: ReceivedOf<typeof billingLedgerTransaction>,
): Promise<AnswerBodyOf<typeof billingLedgerTransaction>> {
  const transaction = await store.transaction(id);
  if (transaction === null) return refuse('not_found', 'no ledger transaction has this id');
  return { transaction: toTransactionView(transaction) };
}

/** Converts a ledger transaction to the operators' view: signed amounts that sum to zero. */
export function toTransactionView({
  id,
  kind,
  requestId,
  postedAt,
  entries,
  reference,
  reason,
}: PostedTransaction): LedgerTransactionView {
  return {
    id,
    kind,
    requestId,
    at: postedAt.toISOString(),
    ...(reference !== undefined && { reference, reason }),
    entries: entries.map(({ ledgerAccount, amountNanoUsd }) => ({
      ledgerAccount,
      amountUsd: formatUsd(amountNanoUsd),
    })),
  };
}

/** Returns the audit log, newest first. */
export async function showAudit(
  store: Pick<ChangesStore, 'changes'>,
  { account, object, cursor, limit }: ReceivedOf<typeof billingAudit>,
): Promise<AnswerBodyOf<typeof billingAudit>> {
  const place = readNumberCursor(cursor);
  if (isRefusal(place)) return place;
  const changes = await store.changes({ account, objectId: object, before: place.after, limit: limit + 1 });
  const { items, nextCursor } = buildPage(changes, limit, {
    nameOf: ({ number }) => String(number),
    viewOf: toEntryView,
  });
  return { entries: items, nextCursor };
}

function toEntryView({
  number,
  at,
  actor,
  action,
  account,
  objectId,
  before,
  after,
  origin,
}: WrittenChange): AuditEntryView {
  return {
    id: `billing.${number}`,
    at: at.toISOString(),
    actor,
    action,
    objectId,
    accountId: account,
    before: before && { ...before },
    after: after && { ...after },
    origin,
  };
}

export interface LedgerDeps {
  readonly transactions: TransactionStore;
  readonly changes: ChangesStore;
}

/** Serves the requests for ledger transactions and the audit log. */
export function serveLedger(bus: Pick<Bus, 'serve'>, { transactions, changes }: LedgerDeps): void {
  bus.serve(billingLedger, (body) => showLedger(transactions, body));
  bus.serve(billingLedgerTransaction, (body) => showLedgerTransaction(transactions, body));
  bus.serve(billingAudit, (body) => showAudit(changes, body));
  bus.serve(billingEraseOrigins, async ({ people }) => ({ entriesErased: await changes.eraseOrigins(people) }));
}
