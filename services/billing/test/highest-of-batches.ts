import { onPool, type Pool } from '@gateway/postgres';

/**
 * The thresholds of which accounts is to be told, in order: of each database transaction that
 * raised alerts of an account the highest. Of accounts with one limit and one period, so that all
 * their alerts have one subject.
 */
export async function highestOfBatches(pool: Pool, account: string): Promise<number[]> {
  const rows = await onPool(pool).query<{ threshold: number }>(
    `SELECT max(threshold)::int AS threshold FROM alerts WHERE account = $1 GROUP BY xmin::text ORDER BY max(number)`,
    [account],
  );
  return rows.map(({ threshold }) => threshold);
}
