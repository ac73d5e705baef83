import type { PageQuery } from '../ports.js';

/** The bounds on ids that a query's times and cursor give; `$1` from, `$2` to (epoch milliseconds), `$3` before. */
export const WITHIN = `id >= uuid_floor(coalesce($1::bigint, 0))
    AND id < least(uuid_floor(coalesce($2::bigint, 281474976710655)), coalesce($3::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))`;

/**
 * The least and the greatest of some ids, for a condition beside `id = ANY (...)`: of an array in a parameter the planner does
 * not know which months it names, and every month ever kept would be looked into for every id.
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
