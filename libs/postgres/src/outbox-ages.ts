import { qualifiedIdentifier } from './identifier.js';
import type { Pool } from './pool.js';
import { onPool } from './tx.js';

/**
 * Returns the age of the oldest row of each outbox table in seconds, 0 for an empty table. Uses the
 * order of ids, which is close enough to the order of time.
 */
export async function outboxAges(pool: Pool, tables: readonly string[]): Promise<[table: string, seconds: number][]> {
  const ages = tables.map((table) => {
    const name = qualifiedIdentifier(table, 'the name of an outbox table');
    return `coalesce((SELECT greatest(0, extract(epoch FROM clock_timestamp() - created_at))
                        FROM ${name} ORDER BY id LIMIT 1), 0)::float8`;
  });
  const row = await onPool(pool).one<{ seconds: number[] }>(`SELECT ARRAY[${ages.join(', ')}]::float8[] AS seconds`);
  return tables.map((table, index) => [table, row?.seconds[index] ?? 0]);
}
