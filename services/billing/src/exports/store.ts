import { onPool, type Pool } from '@gateway/postgres';
import type { LedgerEntry, LedgerKind } from '../ledger/rules.js';
import { headsSql, accountCondition } from '../ledger/sql.js';
import { RECORD_COLUMNS, recordFromRow, type RecordRow } from '../records/record-sql.js';
import type { UsageRecord } from '../records/rules.js';

export interface ExportQuery {
  readonly account: string | null;
  /** Bounds of the time in the ID, epoch milliseconds: [from, to). */
  readonly from: number | null;
  readonly to: number | null;
  readonly limit: number;
}

export interface ExportedRecord {
  readonly record: UsageRecord;
  readonly recordedAt: Date;
}

/** An entry with its transaction head and, for a wallet entry, its description. */
export interface ExportedEntry extends LedgerEntry {
  readonly transactionId: string;
  readonly ordinal: number;
  readonly kind: LedgerKind;
  readonly account: string;
  readonly requestId: string | null;
  readonly corrects: string | null;
  readonly postedAt: Date;
  readonly reference: string | null;
  readonly reason: string | null;
  readonly relatesTo: string | null;
  readonly actor: string | null;
}

export type ExportStore = ReturnType<typeof createExportStore>;

/** Each page is one statement, so it is one snapshot. */
export function createExportStore(pool: Pool) {
  const queries = onPool(pool);
  return {
    async records({ after, ...query }: ExportQuery & { readonly after: string | null }): Promise<ExportedRecord[]> {
      const rows = await queries.query<RecordRow & { recorded_at: Date }>(
        `SELECT ${RECORD_COLUMNS}, recorded_at FROM usage_records
          WHERE ${WITHIN} AND id > $5 ${accountIs(query, '$6')} ORDER BY id LIMIT $1`,
        [...valuesOf(query), after ?? BEFORE_ALL, ...accountOf(query)],
      );
      return rows.map((row) => ({ record: recordFromRow(row), recordedAt: row.recorded_at }));
    },
    async entries({
      after,
      ...query
    }: ExportQuery & { readonly after: { readonly transaction: string; readonly ordinal: number } | null }): Promise<
      ExportedEntry[]
    > {
      // N heads have at least N entries; the outer limit cuts off the surplus. OFFSET 0 forces a
      // primary key lookup for the entries of each head. A join would read the whole ledger for
      // every page.
      const rows = await queries.query<EntryRow>(
        `SELECT head.id AS transaction_id, entry.ordinal, head.kind, head.account, head.request_id, head.corrects,
                entry.ledger_account, entry.amount_nano_usd, head.posted_at,
                money.reference, money.reason, money.relates_to, money.actor
           FROM (${headsSql(`WHERE ${WITHIN} AND id >= $5 ${accountIs(query, '$7')} ORDER BY id LIMIT $1`)}) head
          CROSS JOIN LATERAL (SELECT ordinal, ledger_account, amount_nano_usd FROM ledger_entries
                               WHERE transaction_id = head.id AND (head.id > $5 OR ordinal > $6) OFFSET 0) entry
           LEFT JOIN LATERAL (SELECT reference, reason, relates_to, actor FROM wallet_entries
                               WHERE transaction_id = head.id OFFSET 0) money ON true
          ORDER BY head.id, entry.ordinal LIMIT $1`,
        [...valuesOf(query), after?.transaction ?? BEFORE_ALL, after?.ordinal ?? 0, ...accountOf(query)],
      );
      return rows.map(entryFromRow);
    },
  };
}

/** `$1` limit, `$2` from, `$3` to (epoch milliseconds), `$4` a text above all IDs. */
const WITHIN = `id >= uuid_floor(coalesce($2::bigint, 0)) AND id < coalesce(uuid_floor($3::bigint), $4::uuid)`;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';
const BEYOND_ALL = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
/** IDs contain 48 bits of milliseconds: a later bound is above all of them. */
const ID_TIME_MS_MAX = 2 ** 48 - 1;

type Bounds = Pick<ExportQuery, 'account' | 'from' | 'to' | 'limit'>;

function valuesOf({ from, to, limit }: Bounds): unknown[] {
  const within = (ms: number | null): number | null => ms && Math.min(ms, ID_TIME_MS_MAX);
  return [limit, within(from), within(to), BEYOND_ALL];
}

/** Omits the condition for all accounts, because the two queries use different indexes. */
function accountIs({ account }: Bounds, parameter: string): string {
  return account === null ? '' : `AND ${accountCondition(parameter)}`;
}

function accountOf({ account }: Bounds): string[] {
  return account === null ? [] : [account];
}

interface EntryRow {
  transaction_id: string;
  ordinal: number;
  kind: ExportedEntry['kind'];
  account: string;
  request_id: string | null;
  corrects: string | null;
  ledger_account: string;
  amount_nano_usd: bigint;
  posted_at: Date;
  reference: string | null;
  reason: string | null;
  relates_to: string | null;
  actor: string | null;
}

function entryFromRow(row: EntryRow): ExportedEntry {
  return {
    transactionId: row.transaction_id,
    ordinal: row.ordinal,
    kind: row.kind,
    account: row.account,
    requestId: row.request_id,
    corrects: row.corrects,
    ledgerAccount: row.ledger_account,
    amountNanoUsd: row.amount_nano_usd,
    postedAt: row.posted_at,
    reference: row.reference,
    reason: row.reason,
    relatesTo: row.relates_to,
    actor: row.actor,
  };
}
