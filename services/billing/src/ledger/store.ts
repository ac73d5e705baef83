import type { Tx } from '@gateway/postgres';
import type { AppliedMessage } from '../ports.js';
import {
  attemptsJson,
  RECORD_COLUMNS,
  RECORD_SELECTION,
  recordFromRow,
  type RecordRow,
} from '../records/record-sql.js';
import { int2s, int8s, texts, timestamps, uuids } from './array-sql.js';
import { appendChainBlocks, lockChainHeads } from './chain-store.js';
import type { BalanceRow, LedgerTransaction, SetAside, UsageRecord } from './rules.js';
import { spanOf } from './sql.js';

/**
 * Makes accounts that are not known yet. In sorted order and before any lock, so that two workers that meet wait for each
 * other in one direction only.
 */
export async function addMissingAccounts(tx: Tx, accounts: readonly string[]): Promise<void> {
  await tx.execute(
    `INSERT INTO accounts (account)
     SELECT wanted.account FROM unnest($1::text[]) AS wanted (account)
      WHERE NOT EXISTS (SELECT FROM accounts known WHERE known.account = wanted.account)
      ORDER BY wanted.account COLLATE "C"
     ON CONFLICT DO NOTHING`,
    [texts(accounts)],
    { name: 'add_missing_accounts' },
  );
}

/** Locks the accounts until the end of the transaction and gives their versions. */
export async function lockAccounts(tx: Tx, accounts: readonly string[]): Promise<Map<string, bigint>> {
  return (await lockWithLimits(tx, accounts)).versions;
}

export interface LockedAccounts {
  readonly versions: Map<string, bigint>;
  /** A text for the state of each account's limits: it changes whenever its terms or a cap do. */
  readonly limits: Map<string, string>;
}

/** As {@link lockAccounts}, for a charge: limits that are remembered must be of the state under the lock. */
export async function lockWithLimits(tx: Tx, accounts: readonly string[]): Promise<LockedAccounts> {
  const rows = await tx.query<{ account: string; version: bigint; limits: string }>(
    `SELECT account, version, terms_version || '.' || caps_version AS limits
       FROM accounts WHERE account = ANY ($1::text[]) ORDER BY account FOR UPDATE`,
    [texts(accounts)],
    { name: 'lock_accounts' },
  );
  return {
    versions: new Map(rows.map(({ account, version }) => [account, version])),
    limits: new Map(rows.map(({ account, limits }) => [account, limits])),
  };
}

export async function readRecords(tx: Tx, ids: readonly string[]): Promise<Map<string, UsageRecord>> {
  if (ids.length === 0) return new Map();
  const rows = await tx.query<RecordRow>(
    `SELECT ${RECORD_SELECTION} FROM usage_records WHERE id = ANY ($1::uuid[]) AND id >= $2::uuid AND id <= $3::uuid`,
    [uuids(ids), ...spanOf(ids)],
    { name: 'read_records' },
  );
  return new Map(rows.map((row) => [row.id, recordFromRow(row)]));
}

export async function readRows(tx: Tx, wanted: ReadonlyMap<string, ReadonlySet<string>>): Promise<BalanceRow[]> {
  const pairs = [...wanted].flatMap(([account, names]) => [...names].map((name) => ({ account, name })));
  if (pairs.length === 0) return [];
  return tx.query<BalanceRow>(
    `SELECT account, name, value, version FROM standing_rows
       JOIN unnest($1::text[], $2::text[]) AS wanted (account, name) USING (account, name)`,
    [texts(pairs.map(({ account }) => account)), texts(pairs.map(({ name }) => name))],
    { name: 'read_rows' },
  );
}

const NAMES = RECORD_COLUMNS.map(({ name }) => name).join(', ');
const STORED = RECORD_COLUMNS.map(({ name, stored }) => stored?.(`item.${name}`) ?? `item.${name}`).join(', ');
const ARRAYS = RECORD_COLUMNS.map(({ type }, index) => `$${index + 1}::${type}[]`).join(', ');
const ITEMS = `ROWS FROM (unnest(${ARRAYS}), jsonb_array_elements($${RECORD_COLUMNS.length + 1}::jsonb))
       AS item (${NAMES}, attempts)`;
const INSERT_RECORDS = `INSERT INTO usage_records (${NAMES}, attempts) SELECT ${STORED}, item.attempts FROM ${ITEMS}`;
const REPLACED = RECORD_COLUMNS.filter(({ name }) => name !== 'id')
  .map(({ name, stored }) => `${name} = ${stored?.(`item.${name}`) ?? `item.${name}`}`)
  .join(', ');
const REPLACE_RECORDS = `UPDATE usage_records record SET ${REPLACED}, attempts = item.attempts, recorded_at = now()
       FROM ${ITEMS} WHERE record.id = item.id`;

export async function insertRecords(tx: Tx, records: readonly UsageRecord[]): Promise<void> {
  if (records.length === 0) return;
  await tx.execute(INSERT_RECORDS, recordValues(records), { name: 'insert_records' });
}

/** Records of a lower rank give way; the database refuses any other change. */
export async function replaceRecords(tx: Tx, records: readonly UsageRecord[]): Promise<void> {
  if (records.length === 0) return;
  await tx.execute(REPLACE_RECORDS, recordValues(records), { name: 'replace_records' });
}

/**
 * Posts ledger transactions: heads, entries, and the blocks of their chains. The last of what a database transaction writes,
 * because the chains' locks stand until its commit.
 */
export async function insertTransactions(tx: Tx, transactions: readonly LedgerTransaction[]): Promise<void> {
  if (transactions.length === 0) return;
  await postTransactions(tx, transactions);
  await appendChainBlocks(tx, await lockChainHeads(tx, transactions), transactions);
}

/** Heads and entries in one statement: the database takes neither without the other, and none later. */
export async function postTransactions(tx: Tx, transactions: readonly LedgerTransaction[]): Promise<void> {
  const entries = entryColumns(transactions);
  await tx.execute(
    `WITH head AS (
       INSERT INTO ledger_transactions (id, kind, account, request_id, corrects)
       SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::uuid[])
     )
     INSERT INTO ledger_entries (transaction_id, ordinal, ledger_account, amount_nano_usd)
     SELECT * FROM unnest($6::uuid[], $7::smallint[], $8::text[], $9::bigint[])`,
    [
      uuids(transactions.map(({ id }) => id)),
      texts(transactions.map(({ kind }) => kind)),
      texts(transactions.map(({ account }) => account)),
      uuids(transactions.map(({ requestId }) => requestId)),
      uuids(transactions.map(({ corrects }) => corrects)),
      uuids(entries.transactionIds),
      int2s(entries.ordinals),
      texts(entries.ledgerAccounts),
      int8s(entries.amounts),
    ],
    { name: 'post_transactions' },
  );
}

export async function writeRows(tx: Tx, rows: readonly BalanceRow[]): Promise<void> {
  if (rows.length === 0) return;
  await tx.execute(
    `INSERT INTO standing_rows (account, name, value, version)
     SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[])
     ON CONFLICT (account, name) DO UPDATE SET value = excluded.value, version = excluded.version`,
    [
      texts(rows.map(({ account }) => account)),
      texts(rows.map(({ name }) => name)),
      int8s(rows.map(({ value }) => value)),
      int8s(rows.map(({ version }) => version)),
    ],
    { name: 'write_rows' },
  );
}

export async function writeVersions(tx: Tx, versions: ReadonlyMap<string, bigint>): Promise<void> {
  if (versions.size === 0) return;
  await tx.execute(
    `UPDATE accounts SET version = changed.version
       FROM unnest($1::text[], $2::bigint[]) AS changed (account, version) WHERE accounts.account = changed.account`,
    [texts([...versions.keys()]), int8s([...versions.values()])],
    { name: 'write_versions' },
  );
}

export async function insertSetAside(tx: Tx, events: readonly SetAside[]): Promise<void> {
  for (const event of events) {
    await tx.execute(
      `INSERT INTO set_aside_events
         (content_hash, request_id, account, shard, stream_sequence, reason, detail, event)
       VALUES (decode($1, 'hex'), $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
      [
        event.contentHash,
        event.requestId,
        event.account,
        event.origin.shard,
        event.origin.sequence,
        event.reason,
        event.detail,
        event.event,
      ],
      { name: 'insert_set_aside' },
    );
  }
}

export async function insertApplied(tx: Tx, messages: readonly AppliedMessage[]): Promise<void> {
  if (messages.length === 0) return;
  await tx.execute(
    `INSERT INTO applied_messages (sequence, stored_at, shard)
     SELECT * FROM unnest($1::bigint[], $2::timestamptz[], $3::smallint[]) ON CONFLICT DO NOTHING`,
    [
      int8s(messages.map(({ sequence }) => sequence)),
      timestamps(messages.map(({ storedAtMs }) => storedAtMs)),
      int2s(messages.map(({ shard }) => shard)),
    ],
    { name: 'insert_applied' },
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

function recordValues(records: readonly UsageRecord[]): unknown[] {
  return [...RECORD_COLUMNS.map(({ valuesOf }) => valuesOf(records)), attemptsJson(records)];
}
