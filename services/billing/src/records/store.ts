import { timeOfUuidV7 } from '@gateway/contracts/ids';
import { inTransaction, type Pool, type Tx } from '@gateway/postgres';
import { uuids } from '../ledger/array-sql.js';
import { boundValues, HOUR_MS, accountCondition, type PageQuery, findIdSpan, WITHIN } from '../ledger/sql.js';
import { INSERT_RECORDS, type NewRecord, type Numbers, OUTCOME_CODES, recordValues } from './columns-sql.js';
import { RECORD_COLUMNS, recordFromRow, type RecordRow } from './record-sql.js';
import type { UsageRecord } from './rules.js';
import { readTransactionsOfCall } from '../ledger/transactions-store.js';

/** Null: no filter. */
export interface RecordsQuery extends PageQuery {
  readonly key: string | null;
  readonly member: string | null;
  readonly model: string | null;
  readonly outcome: UsageRecord['outcome'] | null;
  readonly requestId: string | null;
  /** Only records with an attempt whose cost the provider reported. */
  readonly reportsCost?: boolean;
}

export type RecordStore = ReturnType<typeof createRecordStore>;

/** Creates the store of usage records for operators; each result is one snapshot. */
export function createRecordStore(pool: Pool) {
  const inSnapshot = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
    inTransaction(pool, work, { isolation: 'repeatable read', readOnly: true });
  return {
    /** Returns a record with its ledger transactions; null if no record has the ID. */
    record: (requestId: string) =>
      inSnapshot(async (tx) => {
        const row = await tx.one<RecordRow>(`SELECT ${RECORD_COLUMNS} FROM usage_records WHERE id = $1`, [requestId]);
        if (row === null) return null;
        return { record: recordFromRow(row), transactions: await readTransactionsOfCall(tx, row.account, requestId) };
      }),
    /** Newest first. */
    records: (query: RecordsQuery) => inSnapshot((tx) => findRecords(tx, query)),
  };
}

/**
 * Finds records, newest first. For a search in one account by key, member or model, it reads only
 * the hours whose sums contain such calls, and the unsettled calls. So a search without a match
 * reads no settled record.
 */
async function findRecords(tx: Tx, query: RecordsQuery): Promise<UsageRecord[]> {
  const { account, key, member, model, outcome, requestId, limit, reportsCost = false } = query;
  if (reportsCost) return readMatching(tx, query, REPORTED);
  const rare = key !== null || member !== null || model !== null;
  if (account === null || requestId !== null || (!rare && outcome === null)) return readMatching(tx, query, '');
  if (outcome === 'voided' || outcome === 'expired') return readMatching(tx, query, UNSETTLED[outcome]);
  if (!rare) return readMatching(tx, query, '');
  const found = await readSettled(tx, { ...query, account });
  if (outcome === null) {
    for (const unsettled of Object.values(UNSETTLED)) found.push(...(await readMatching(tx, query, unsettled)));
  }
  return found.sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, limit);
}

/**
 * Repeats the condition of the index `call_records_unsettled`. With a parameter the planner could
 * not know that the index contains all of these records.
 */
const UNSETTLED = {
  voided: `AND outcome_code = ${OUTCOME_CODES.voided} AND outcome_code <> ${OUTCOME_CODES.settled}`,
  expired: `AND outcome_code = ${OUTCOME_CODES.expired} AND outcome_code <> ${OUTCOME_CODES.settled}`,
} as const;

/** Repeats the condition of the index `call_records_attempts`, which has few records. */
const REPORTED = `AND id IN (
  SELECT id FROM call_records
   WHERE ${WITHIN} AND attempts IS NOT NULL AND jsonb_path_exists(attempts, '$[*].reportedCostNanoUsd'))`;

/** Conditions on numbers, which are indexed, in the order of the index. */
const FILTERS = {
  account: accountCondition,
  key: (parameter: string) => `key_number = ${numberOfName(parameter)}`,
  member: (parameter: string) => `member_number = ${numberOfName(parameter)}`,
  model: (parameter: string) => `model_number = ${numberOfName(parameter)}`,
  outcome: (parameter: string) => `outcome = ${parameter}`,
  requestId: (parameter: string) => `id = ${parameter}`,
} as const;
/** Conditions for the hours of use, which contain names. */
const HOUR_FILTERS = {
  account: (parameter: string) => `account = ${parameter}`,
  key: (parameter: string) => `key_id = ${parameter}`,
  member: (parameter: string) => `member_id = ${parameter}`,
  model: (parameter: string) => `model_id = ${parameter}`,
} as const;

function numberOfName(parameter: string): string {
  return `(SELECT number FROM names WHERE name = ${parameter})`;
}

async function readMatching(tx: Tx, query: RecordsQuery, more: string): Promise<UsageRecord[]> {
  const { conditions, values } = filtersOf(query, FILTERS, boundValues(query));
  const rows = await tx.query<RecordRow>(
    `SELECT ${RECORD_COLUMNS} FROM usage_records WHERE ${WITHIN} ${conditions} ${more} ORDER BY id DESC LIMIT $4`,
    values,
  );
  return rows.map(recordFromRow);
}

async function readSettled(tx: Tx, query: RecordsQuery & { readonly account: string }): Promise<UsageRecord[]> {
  const hours = await readHours(tx, query);
  if (hours.length === 0) return [];
  const { conditions, values } = filtersOf({ ...query, outcome: null }, FILTERS, [...boundValues(query), hours]);
  const rows = await tx.query<RecordRow>(
    `SELECT record.* FROM unnest($5::bigint[]) AS hour (start_ms), LATERAL (
       SELECT ${RECORD_COLUMNS} FROM usage_records
        WHERE ${WITHIN} AND id >= uuid_floor(start_ms) AND id < uuid_floor(start_ms + ${HOUR_MS})
          AND outcome_code = ${OUTCOME_CODES.settled} ${conditions} ORDER BY id DESC LIMIT $4) record
      ORDER BY id DESC LIMIT $4`,
    values,
  );
  return rows.map(recordFromRow);
}

/** Returns the starts of the newest hours that together contain `limit` settled calls. */
async function readHours(tx: Tx, query: RecordsQuery & { readonly account: string }): Promise<number[]> {
  const { from, to, before, limit } = query;
  const begin = from ?? 0;
  const end = Math.min(
    to ?? Number.MAX_SAFE_INTEGER,
    before === null ? Number.MAX_SAFE_INTEGER : timeOfUuidV7(before) + 1,
  );
  // Each hour contains at least one call; the first and the last may be partly out of bounds.
  const { conditions, values } = filtersOf(query, HOUR_FILTERS, [begin - HOUR_MS, end, limit + 2]);
  const rows = await tx.query<{ hour_ms: bigint; calls: bigint }>(
    `SELECT hour_ms, sum(calls)::bigint AS calls FROM usage_hours WHERE hour_ms > $1 AND hour_ms < $2 ${conditions}
      GROUP BY 1 ORDER BY 1 DESC LIMIT $3`,
    values,
  );
  const hours: number[] = [];
  let calls = 0;
  for (const row of rows) {
    if (calls >= limit) break;
    const start = Number(row.hour_ms);
    hours.push(start);
    if (start >= begin && start + HOUR_MS <= end - 1) calls += Number(row.calls);
  }
  return hours;
}

/** Omits unused filters, so that the planner can choose an index for the used ones. */
function filtersOf(
  query: RecordsQuery,
  filters: Readonly<Record<string, (parameter: string) => string>>,
  bounds: readonly unknown[],
): { conditions: string; values: unknown[] } {
  const values = [...bounds];
  const conditions = Object.entries(filters).flatMap(([name, condition]) => {
    const value = query[name as keyof RecordsQuery];
    return value === null ? [] : [`AND ${condition(`$${values.push(value)}`)}`];
  });
  return { conditions: conditions.join(' '), values };
}

/** Reads the record with the highest rank for each ID, for a settlement. */
export async function readRecords(tx: Tx, ids: readonly string[]): Promise<Map<string, UsageRecord>> {
  if (ids.length === 0) return new Map();
  const rows = await tx.query<RecordRow>(
    `SELECT ${RECORD_COLUMNS} FROM usage_record_ranks
      WHERE id = ANY ($1::uuid[]) AND id >= $2::uuid AND id <= $3::uuid ORDER BY rank`,
    [uuids(ids), ...findIdSpan(ids)],
    { name: 'read_records' },
  );
  return new Map(rows.map((row) => [row.id, recordFromRow(row)]));
}

export async function insertRecords(tx: Tx, records: readonly NewRecord[], numbers: Numbers): Promise<void> {
  if (records.length === 0) return;
  await tx.execute(INSERT_RECORDS, recordValues(records, numbers), { name: 'insert_records' });
}
