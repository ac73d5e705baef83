/** What a column of a batch holds. Texts may be anything; a null is the database's null. */
export type ArrayItem = string | number | bigint | boolean | null;

const PLAIN_TEXT = /^[^"\\]*$/;

/**
 * A one-dimensional PostgreSQL array as text, for `unnest`. The driver's own conversion takes
 * several times as long, and batches consist of little else.
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

/** SQL for the time that a parameter of epoch milliseconds stands for. */
export function timeOf(parameter: string): string {
  return `timestamptz 'epoch' + ${parameter}::bigint * interval '1 millisecond'`;
}

/** Page of a list by ids. */
export interface PageQuery {
  readonly account: string | null;
  /** Bounds on the time inside the id, epoch milliseconds: [from, to). */
  readonly from: number | null;
  readonly to: number | null;
  /** Only ids below it. */
  readonly before: string | null;
  readonly limit: number;
}

/** SQL for what belongs to the account that a parameter names, in the big tables and views. */
export function ofAccount(parameter: string): string {
  return `account_number = (SELECT number FROM accounts WHERE account = ${parameter})`;
}

/**
 * A page of ledger transactions. Each part of the ledger is read in the order of its own index: a
 * union of them would be sorted as a whole.
 * @param page WHERE, ORDER BY id and LIMIT of the statement
 */
export function headsInOrder(page: string, withoutCalls = false): string {
  const parts = withoutCalls ? ['command_heads'] : ['command_heads', 'usage_heads', 'correction_heads'];
  const selects = parts.map((part) => `(SELECT * FROM ${part} ${page})`);
  return `SELECT * FROM (${selects.join(' UNION ALL ')}) head ${page.slice(page.lastIndexOf('ORDER BY'))}`;
}

/**
 * The bounds on ids that a query's times and cursor give; `$1` from, `$2` to (epoch milliseconds),
 * `$3` before.
 */
export const WITHIN = `id >= uuid_floor(coalesce($1::bigint, 0))
    AND id < least(uuid_floor(coalesce($2::bigint, 281474976710655)), coalesce($3::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))`;

/**
 * The least and the greatest of some ids, for a condition beside `id = ANY (...)`: of an array in a
 * parameter the planner does not know which months it names, and every month ever kept would be
 * looked into for every id.
 * @throws RangeError for none
 */
export function spanOf(ids: readonly string[]): [first: string, last: string] {
  const [one] = ids;
  if (one === undefined) throw new RangeError('no id has no span');
  let [first, last] = [one, one];
  for (const id of ids) {
    if (id < first) first = id;
    if (id > last) last = id;
  }
  return [first, last];
}

/** Ids carry 48 bits of milliseconds: a later bound is beyond all of them. */
export const ID_TIME_MS_MAX = 2 ** 48 - 1;

/** The values of {@link WITHIN}, and `$4`, how many are asked for. */
export function boundsOf({ from, to, before, limit }: PageQuery): unknown[] {
  const within = (ms: number | null): number | null => ms && Math.min(ms, ID_TIME_MS_MAX);
  return [within(from), within(to), before, limit];
}

/** A place in a list that is read newest first. */
export interface NumberedQuery {
  readonly account: string;
  /** Only numbers below it. */
  readonly before: bigint | null;
  readonly limit: number;
}

/**
 * A text for the tables that a connection sees, FROM ledger_state: another one after the server was
 * started anew, promoted, restored or replaced, and in another ledger epoch.
 */
export const DATABASE_MARK = `pg_postmaster_start_time()::text || ' ' || to_regclass('names')::oid || ' ' || ledger_state.incarnation`;
