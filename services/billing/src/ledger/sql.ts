/** An item of a batch column. Texts may contain any character; null becomes NULL. */
export type ArrayItem = string | number | bigint | boolean | null;

const PLAIN_TEXT = /^[^"\\]*$/;

/**
 * Formats a one-dimensional PostgreSQL array as text, for `unnest`. The driver's own conversion is
 * several times slower, and it would be most of the work for a batch.
 */
export function arrayLiteral(items: readonly ArrayItem[]): string {
  return `{${items.map(itemText).join(',')}}`;
}

function itemText(item: ArrayItem): string | number | bigint | boolean {
  if (item === null) return 'NULL';
  if (typeof item !== 'string') return item;
  return PLAIN_TEXT.test(item) ? `"${item}"` : `"${item.replace(/[\\"]/g, '\\$&')}"`;
}

export const HOUR_MS = 3_600_000;

/** Returns SQL that converts a parameter of epoch milliseconds to a time. */
export function timeSql(parameter: string): string {
  return `timestamptz 'epoch' + ${parameter}::bigint * interval '1 millisecond'`;
}

/** One page of a list that is ordered by ID. */
export interface PageQuery {
  readonly account: string | null;
  /** Bounds of the time in the ID, epoch milliseconds: [from, to). */
  readonly from: number | null;
  readonly to: number | null;
  /** Only IDs below this one. */
  readonly before: string | null;
  readonly limit: number;
}

/** Returns the SQL condition for the account in a parameter, for the big tables and views. */
export function accountCondition(parameter: string): string {
  return `account_number = (SELECT number FROM accounts WHERE account = ${parameter})`;
}

/**
 * Returns the SQL for a page of ledger transactions. Each part of the ledger is read in the order
 * of its own index; PostgreSQL would sort a plain union as a whole.
 * @param page WHERE, ORDER BY id and LIMIT of the statement
 */
export function headsSql(page: string, withoutCalls = false): string {
  const parts = withoutCalls ? ['command_heads'] : ['command_heads', 'usage_heads', 'correction_heads'];
  const selects = parts.map((part) => `(SELECT * FROM ${part} ${page})`);
  return `SELECT * FROM (${selects.join(' UNION ALL ')}) head ${page.slice(page.lastIndexOf('ORDER BY'))}`;
}

/** Bounds of IDs from a query: `$1` from, `$2` to (epoch milliseconds), `$3` before. */
export const WITHIN = `id >= uuid_floor(coalesce($1::bigint, 0))
    AND id < least(uuid_floor(coalesce($2::bigint, 281474976710655)), coalesce($3::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))`;

/**
 * Returns the lowest and highest ID, for a range condition in addition to `id = ANY (...)`. The
 * planner cannot infer months from an array parameter, so without the range it would search every
 * partition for every ID.
 * @throws RangeError for an empty list
 */
export function findIdSpan(ids: readonly string[]): [first: string, last: string] {
  const [one] = ids;
  if (one === undefined) throw new RangeError('the list of IDs is empty');
  let [first, last] = [one, one];
  for (const id of ids) {
    if (id < first) first = id;
    if (id > last) last = id;
  }
  return [first, last];
}

/** IDs contain 48 bits of milliseconds: a later bound is above all of them. */
export const ID_TIME_MS_MAX = 2 ** 48 - 1;

/** Returns the parameter values of {@link WITHIN}, and the limit as `$4`. */
export function boundValues({ from, to, before, limit }: PageQuery): unknown[] {
  const within = (ms: number | null): number | null => ms && Math.min(ms, ID_TIME_MS_MAX);
  return [within(from), within(to), before, limit];
}

/** One page of a list that is read newest first. */
export interface NumberedQuery {
  readonly account: string;
  /** Only numbers below this one. */
  readonly before: bigint | null;
  readonly limit: number;
}

/**
 * SQL over ledger_state for a text that identifies the tables that a connection sees. The text
 * changes when the server is restarted, promoted, restored or replaced, and with each ledger epoch.
 */
export const DATABASE_IDENTITY_SQL = `pg_postmaster_start_time()::text || ' ' || to_regclass('names')::oid || ' ' || ledger_state.ledger_epoch`;
