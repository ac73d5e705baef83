import { enqueue, onPool, type Pool, type Tx } from '@gateway/postgres';
import { WALLET_ROW } from '@gateway/metering';
import type { BalanceSnapshot } from '@gateway/contracts/messages';
import { int2s, int8s, texts, uuids } from './array-sql.js';
import { appendChainBlocks, lockChainHeads } from './chain-store.js';
import type { Balance, LedgerTransaction } from './rules.js';
import { DATABASE_IDENTITY_SQL } from './sql.js';

/** Distinguishes this ledger from a restored or promoted copy (docs/protocol.md#r17). */
export interface LedgerState {
  /** Identifies the database that the connection uses. */
  readonly database: string;
  readonly ledgerEpoch: string;
  /** Name of the ledger's consumers of the stream: the epoch of the last restore. */
  readonly consumers: string;
}

const LEDGER_STATE = `
  SELECT ${DATABASE_IDENTITY_SQL} AS database, ledger_epoch AS "ledgerEpoch", consumers FROM ledger_state`;

export async function readLedgerState(pool: Pool): Promise<LedgerState> {
  const state = await onPool(pool).one<LedgerState>(LEDGER_STATE);
  if (state === null) throw new Error('ledger_state is empty');
  return state;
}

/** Reads the state of the database if its outbox contains the change; null if it does not. */
export async function readStateWith(pool: Pool, account: string, change: string): Promise<LedgerState | null> {
  return onPool(pool).one<LedgerState>(
    `${LEDGER_STATE} WHERE EXISTS (SELECT FROM outbox WHERE key = $1 AND body ->> 'change' = $2)`,
    [account, change],
  );
}

export async function readBalances(tx: Tx, wanted: ReadonlyMap<string, ReadonlySet<string>>): Promise<Balance[]> {
  const pairs = [...wanted].flatMap(([account, names]) => [...names].map((name) => ({ account, name })));
  if (pairs.length === 0) return [];
  return tx.query<Balance>(
    `SELECT account, name, value, version FROM balances
       JOIN unnest($1::text[], $2::text[]) AS wanted (account, name) USING (account, name)`,
    [texts(pairs.map(({ account }) => account)), texts(pairs.map(({ name }) => name))],
    { name: 'read_rows' },
  );
}

export async function writeBalances(tx: Tx, rows: readonly Balance[]): Promise<void> {
  if (rows.length === 0) return;
  await tx.execute(
    `INSERT INTO balances (account, name, value, version)
     SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[])
     ON CONFLICT (account, name) DO UPDATE SET value = excluded.value, version = excluded.version`,
    balanceColumns(rows),
    { name: 'write_rows' },
  );
}

function balanceColumns(rows: readonly Balance[]): Buffer[] {
  return [
    texts(rows.map(({ account }) => account)),
    texts(rows.map(({ name }) => name)),
    int8s(rows.map(({ value }) => value)),
    int8s(rows.map(({ version }) => version)),
  ];
}

/**
 * Updates balances that this transaction has read under their accounts' locks. Writes half as much
 * WAL for each balance as {@link writeBalances}.
 * @throws Error if a balance does not exist
 */
export async function updateBalances(tx: Tx, rows: readonly Balance[]): Promise<void> {
  if (rows.length === 0) return;
  const updated = await tx.execute(
    `UPDATE balances kept SET value = changed.value, version = changed.version
       FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS changed (account, name, value, version)
      WHERE kept.account = changed.account AND kept.name = changed.name`,
    balanceColumns(rows),
    { name: 'update_rows' },
  );
  if (updated !== rows.length) throw new Error(`${rows.length - updated} balances to update do not exist`);
}

/** The wallet's balance in nano-USD; null until its first entry. */
export function readWallet(tx: Tx, account: string): Promise<{ readonly value: bigint } | null> {
  return tx.one<{ value: bigint }>('SELECT value FROM balances WHERE account = $1 AND name = $2', [
    account,
    WALLET_ROW,
  ]);
}

export async function readBalance(tx: Tx, account: string): Promise<bigint> {
  return (await readWallet(tx, account))?.value ?? 0n;
}

/**
 * Posts ledger transactions of commands: heads, entries, and the blocks of their chains. Call it as
 * the last write of a database transaction, because the chains' locks are held until the commit.
 */
export async function insertTransactions(tx: Tx, transactions: readonly LedgerTransaction[]): Promise<void> {
  if (transactions.length === 0) return;
  await postTransactions(tx, transactions);
  await appendChainBlocks(tx, await lockChainHeads(tx, transactions), transactions);
}

/**
 * Inserts heads and entries in one statement, because the database rejects a head without entries,
 * entries without a head, and entries that are added later.
 */
async function postTransactions(tx: Tx, transactions: readonly LedgerTransaction[]): Promise<void> {
  const entries = entryColumns(transactions);
  await tx.execute(
    `WITH head AS (
       INSERT INTO command_transactions (id, kind, account_number)
       SELECT posted.id, posted.kind, accounts.number
         FROM unnest($1::uuid[], $2::text[], $3::text[]) AS posted (id, kind, account) JOIN accounts USING (account)
     )
     INSERT INTO command_entries (transaction_id, ordinal, ledger_account, amount_nano_usd)
     SELECT * FROM unnest($4::uuid[], $5::smallint[], $6::text[], $7::bigint[])`,
    [
      uuids(transactions.map(({ id }) => id)),
      texts(transactions.map(({ kind }) => kind)),
      texts(transactions.map(({ account }) => account)),
      uuids(entries.transactionIds),
      int2s(entries.ordinals),
      texts(entries.ledgerAccounts),
      int8s(entries.amounts),
    ],
    { name: 'post_transactions' },
  );
}

function entryColumns(transactions: readonly LedgerTransaction[]) {
  const columns = {
    transactionIds: [] as string[],
    ordinals: [] as number[],
    ledgerAccounts: [] as string[],
    amounts: [] as bigint[],
  };
  for (const { id, entries } of transactions) {
    for (const [index, { ledgerAccount, amountNanoUsd }] of entries.entries()) {
      columns.transactionIds.push(id);
      columns.ordinals.push(index + 1);
      columns.ledgerAccounts.push(ledgerAccount);
      columns.amounts.push(amountNanoUsd);
    }
  }
  return columns;
}

/** Outbox messages that are sent as `admission.apply` with a balance snapshot. */
const SNAPSHOT_TOPIC = 'balance-snapshot';

/**
 * Enqueues the snapshot in the transaction that makes the change. The account's lock keeps the
 * changes of one account in order.
 */
export async function enqueueSnapshot(tx: Tx, change: string, snapshot: BalanceSnapshot): Promise<void> {
  await enqueue(tx, { topic: SNAPSHOT_TOPIC, key: snapshot.account, body: { change, snapshot } });
}

/** Waits until admission has applied a change from the outbox (docs/protocol.md#r10). */
export interface ChangeDelivery {
  awaitDelivered(account: string, change: string): Promise<boolean>;
}
