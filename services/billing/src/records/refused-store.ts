import { timeOfUuidV7 } from '@gateway/contracts/ids';
import { REFUSED_IDS_MAX } from '@gateway/contracts/messages';
import { onPool, type Pool } from '@gateway/postgres';

/** Refused calls of one account, code and key in one minute. */
export interface RefusedCalls {
  readonly account: string;
  /** Start of the minute, epoch milliseconds. */
  readonly minute: number;
  readonly code: string;
  /** Null: the key is unknown. */
  readonly key: string | null;
  readonly count: number;
  /** Newest last. */
  readonly lastIds: readonly string[];
}

export interface RefusedQuery {
  readonly account: string;
  /** [from, to), epoch milliseconds. */
  readonly from: number;
  readonly to: number;
  readonly key: string | null;
  readonly limit: number;
}

/** Rows per DELETE statement. */
const DELETE_MAX = 10_000;
/**
 * Tolerance for finding an ID: the ID has the edge's time and the minute has the limit store's
 * time. They differ by at most half a minute.
 */
const ID_TIME_TOLERANCE_MS = 120_000;

interface RefusedRow {
  account: string;
  minute_ms: bigint;
  code: string;
  key_id: string;
  calls: bigint;
  last_ids: string[];
}

/**
 * IDs begin with their time, so they are sorted here: messages of two replicas may arrive in
 * another order than the refusals.
 */
const NEWEST = `ARRAY(SELECT id FROM (
    SELECT id FROM unnest(kept.last_ids || excluded.last_ids) AS id ORDER BY id DESC LIMIT ${REFUSED_IDS_MAX}) newest ORDER BY id)`;

export type RefusedStore = ReturnType<typeof createRefusedStore>;

export function createRefusedStore(pool: Pool) {
  const queries = onPool(pool);
  return {
    /** Adds to the stored row with the same account, minute, code and key. */
    async add(refused: readonly RefusedCalls[]): Promise<void> {
      const rows = [...mergeByKey(refused).values()].sort(compareKeys);
      if (rows.length === 0) return;
      await queries.execute(
        `INSERT INTO refused_calls AS kept (account, minute_ms, code, key_id, calls, last_ids)
         SELECT account, minute_ms, code, key_id, calls, string_to_array(ids, ',')::uuid[]
           FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[])
             AS told (account, minute_ms, code, key_id, calls, ids)
         ON CONFLICT (account, minute_ms, code, key_id) DO UPDATE
           SET calls = kept.calls + excluded.calls,
               last_ids = ${NEWEST}`,
        [
          rows.map(({ account }) => account),
          rows.map(({ minute }) => minute),
          rows.map(({ code }) => code),
          rows.map(({ key }) => key ?? ''),
          rows.map(({ count }) => count),
          rows.map(({ lastIds }) => lastIds.join(',')),
        ],
        { name: 'add_refused' },
      );
    },
    /** Newest first, with totals over the bounds. */
    async list({
      account,
      from,
      to,
      key,
      limit,
    }: RefusedQuery): Promise<{ rows: RefusedCalls[]; totals: { code: string; count: number }[] }> {
      const within = `account = $1 AND minute_ms >= $2 AND minute_ms < $3 AND ($4::text IS NULL OR key_id = $4)`;
      const rows = await queries.query<RefusedRow>(
        `SELECT * FROM refused_calls WHERE ${within} ORDER BY minute_ms DESC, code, key_id LIMIT $5`,
        [account, from, to, key, limit],
      );
      const totals = await queries.query<{ code: string; calls: bigint }>(
        `SELECT code, sum(calls)::bigint AS calls FROM refused_calls WHERE ${within} GROUP BY 1 ORDER BY 2 DESC, 1`,
        [account, from, to, key],
      );
      return { rows: rows.map(fromRow), totals: totals.map(({ code, calls }) => ({ code, count: Number(calls) })) };
    },
    /** Returns null if no stored minute contains the ID. */
    async find(requestId: string): Promise<RefusedCalls | null> {
      const time = timeOfUuidV7(requestId);
      const [row] = await queries.query<RefusedRow>(
        `SELECT * FROM refused_calls WHERE minute_ms BETWEEN $1 AND $2 AND $3 = ANY (last_ids) LIMIT 1`,
        [time - ID_TIME_TOLERANCE_MS, time + ID_TIME_TOLERANCE_MS, requestId],
      );
      return row === undefined ? null : fromRow(row);
    },
    /** Deletes all rows before the given time (epoch milliseconds), in batches. */
    async deleteOld(before: number): Promise<void> {
      for (let deleted = DELETE_MAX; deleted === DELETE_MAX;)
        deleted = await queries.execute(
          `DELETE FROM refused_calls WHERE ctid = ANY (ARRAY(
             SELECT ctid FROM refused_calls WHERE minute_ms < $1 LIMIT ${DELETE_MAX}))`,
          [before],
        );
    },
  };
}

/** Merges the rows with equal keys, because one statement cannot update a row twice. */
function mergeByKey(refused: readonly RefusedCalls[]): Map<string, RefusedCalls> {
  const rows = new Map<string, RefusedCalls>();
  for (const row of refused) {
    const before = rows.get(nameOf(row));
    const lastIds = [...(before?.lastIds ?? []), ...row.lastIds].sort().slice(-REFUSED_IDS_MAX);
    rows.set(nameOf(row), { ...row, count: row.count + (before?.count ?? 0), lastIds });
  }
  return rows;
}

function nameOf({ account, minute, code, key }: RefusedCalls): string {
  return `${account} ${minute} ${code} ${key ?? ''}`;
}

/** Sorts the rows, so that all writers lock them in the same order. */
function compareKeys(one: RefusedCalls, other: RefusedCalls): number {
  const [first, second] = [nameOf(one), nameOf(other)];
  return first < second ? -1 : Number(first > second);
}

function fromRow(row: RefusedRow): RefusedCalls {
  return {
    account: row.account,
    minute: Number(row.minute_ms),
    code: row.code,
    key: row.key_id === '' ? null : row.key_id,
    count: Number(row.calls),
    lastIds: row.last_ids,
  };
}
