import { timeOfUuidV7 } from '@gateway/contracts/ids';
import { WALLET_ROW } from '@gateway/metering';
import { inTransaction, type Pool, type Tx } from '@gateway/postgres';
import type { PostedTransaction, ShowStore } from '../ports.js';
import { RECORD_SELECTION, recordFromRow, type RecordRow } from '../records/record-sql.js';
import { findRecords } from '../records/store.js';
import { readLimits, readSubscription } from '../subscriptions/subscription-rows.js';
import type { LedgerEntry, LedgerKind } from './rules.js';
import { boundsOf, WITHIN } from './sql.js';

const SNAPSHOT = { isolation: 'repeatable read', readOnly: true } as const;

export function makeShowStore(pool: Pool): ShowStore {
  const inSnapshot = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => inTransaction(pool, work, SNAPSHOT);
  return {
    funding: (account, now) =>
      inSnapshot(async (tx) => ({
        walletNanoUsd: await readWallet(tx, account),
        subscription: await readSubscription(tx, account, now),
        limits: await readLimits(tx, account),
      })),
    record: (requestId) =>
      inSnapshot(async (tx) => {
        const row = await tx.one<RecordRow>(`SELECT ${RECORD_SELECTION} FROM usage_records WHERE id = $1`, [requestId]);
        if (row === null) return null;
        // A charge and its correction carry the time of the id that they belong to.
        const heads = await tx.query<HeadRow>(
          `SELECT ${HEAD} FROM ledger_transactions WHERE account = $1 AND id >= uuid_floor($2) AND id < uuid_floor($2 + 1)
              AND request_id = $3 ORDER BY posted_at, id`,
          [row.account, timeOfUuidV7(requestId), requestId],
        );
        return { record: recordFromRow(row), transactions: await withEntries(tx, heads) };
      }),
    records: (query) => inSnapshot((tx) => findRecords(tx, query)),
    transactions: (query) =>
      inSnapshot(async (tx) => {
        const heads = await tx.query<HeadRow>(
          `SELECT ${HEAD} FROM ledger_transactions WHERE ${WITHIN} AND account = $5 AND (NOT $6 OR request_id IS NULL)
            ORDER BY id DESC LIMIT $4`,
          [...boundsOf(query), query.account, query.withoutCalls],
        );
        return withReasons(tx, await withEntries(tx, heads));
      }),
    transaction: (id) =>
      inSnapshot(async (tx) => {
        const heads = await tx.query<HeadRow>(`SELECT ${HEAD} FROM ledger_transactions WHERE id = $1`, [id]);
        return (await withEntries(tx, heads))[0] ?? null;
      }),
  };
}

/** What was written down with money that was added or taken. */
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

async function readWallet(tx: Tx, account: string): Promise<bigint | null> {
  const row = await tx.one<{ value: bigint }>('SELECT value FROM standing_rows WHERE account = $1 AND name = $2', [
    account,
    WALLET_ROW,
  ]);
  return row?.value ?? null;
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
