import { onPool, type Pool } from '@gateway/postgres';

/**
 * Returns the thresholds that accounts must receive, in order: the highest alert of each database
 * transaction. Only for accounts with one limit and one period, whose alerts all have one subject.
 */
export async function readHighestOfBatches(pool: Pool, account: string): Promise<number[]> {
  const rows = await onPool(pool).query<{ threshold: number }>(
    `SELECT max(threshold)::int AS threshold FROM alerts WHERE account = $1 GROUP BY xmin::text ORDER BY max(number)`,
    [account],
  );
  return rows.map(({ threshold }) => threshold);
}
