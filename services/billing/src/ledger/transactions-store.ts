import { timeOfUuidV7 } from '@gateway/contracts/ids';
import { inTransaction, type Pool, type Tx } from '@gateway/postgres';
import type { LedgerEntry, LedgerKind, LedgerTransaction } from './rules.js';
import { boundValues, headsSql, accountCondition, type PageQuery, WITHIN } from './sql.js';

export type PostedTransaction = LedgerTransaction & {
  readonly postedAt: Date;
  /** Only for wallet entries. */
  readonly reference?: string;
  readonly reason?: string;
};

const SNAPSHOT = { isolation: 'repeatable read', readOnly: true } as const;

export type TransactionStore = ReturnType<typeof createTransactionStore>;

/** Creates the store of ledger transactions for operators; each result is one snapshot. */
export function createTransactionStore(pool: Pool) {
  const inSnapshot = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => inTransaction(pool, work, SNAPSHOT);
  return {
    /** Returns the transactions of an account, newest first. */
    transactions: (query: PageQuery & { readonly account: string; readonly withoutCalls: boolean }) =>
      inSnapshot(async (tx) => {
        const heads = await tx.query<HeadRow>(
          headsSql(`WHERE ${WITHIN} AND ${accountCondition('$5')} ORDER BY id DESC LIMIT $4`, query.withoutCalls),
          [...boundValues(query), query.account],
        );
        return withReasons(tx, await withEntries(tx, heads));
      }),
    /** Returns null if no transaction has the ID. */
    transaction: (id: string) =>
      inSnapshot(async (tx) => {
        const heads = await tx.query<HeadRow>(`SELECT ${HEAD} FROM ledger_transactions WHERE id = $1`, [id]);
        return (await withEntries(tx, heads))[0] ?? null;
      }),
  };
}

/** Reads the charge of a call and its correction. Their IDs contain the time of the call's ID. */
export async function readTransactionsOfCall(tx: Tx, account: string, requestId: string): Promise<PostedTransaction[]> {
  const heads = await tx.query<HeadRow>(
    `SELECT ${HEAD} FROM ledger_transactions WHERE ${accountCondition('$1')} AND id >= uuid_floor($2) AND id < uuid_floor($2 + 1)
        AND request_id = $3 ORDER BY posted_at, id`,
    [account, timeOfUuidV7(requestId), requestId],
  );
  return withEntries(tx, heads);
}

/** Adds the reference and reason of wallet entries. */
async function withReasons(tx: Tx, transactions: readonly PostedTransaction[]): Promise<PostedTransaction[]> {
  const ids = transactions.filter(({ requestId }) => requestId === null).map(({ id }) => id);
  if (ids.length === 0) return [...transactions];
  const rows = await tx.query<{ transaction_id: string; reference: string; reason: string }>(
    'SELECT transaction_id, reference, reason FROM wallet_entries WHERE transaction_id = ANY ($1::uuid[])',
    [ids],
  );
  const written = new Map(rows.map(({ transaction_id, ...row }) => [transaction_id, row]));
  return transactions.map((transaction) => ({ ...transaction, ...written.get(transaction.id) }));
}

const HEAD = 'id, kind, account, request_id, corrects, posted_at';

interface HeadRow {
  id: string;
  kind: LedgerKind;
  account: string;
  request_id: string | null;
  corrects: string | null;
  posted_at: Date;
}

interface EntryRow {
  transaction_id: string;
  ledger_account: string;
  amount_nano_usd: bigint;
}

async function withEntries(tx: Tx, heads: readonly HeadRow[]): Promise<PostedTransaction[]> {
  const rows = await tx.query<EntryRow>(
    `SELECT transaction_id, ledger_account, amount_nano_usd FROM ledger_entries
      WHERE transaction_id = ANY ($1::uuid[]) ORDER BY transaction_id, ordinal`,
    [heads.map(({ id }) => id)],
  );
  const entries = new Map<string, LedgerEntry[]>(heads.map(({ id }) => [id, []]));
  for (const row of rows)
    entries.get(row.transaction_id)?.push({ ledgerAccount: row.ledger_account, amountNanoUsd: row.amount_nano_usd });
  return heads.map((head) => ({
    id: head.id,
    kind: head.kind,
    account: head.account,
    requestId: head.request_id,
    corrects: head.corrects,
    postedAt: head.posted_at,
    entries: entries.get(head.id) ?? [],
  }));
}
