import { qualifiedIdentifier } from './identifier.js';
import type { Pool } from './pool.js';
import { onPool } from './tx.js';

/**
 * How long the oldest row of each of these outbox tables has waited, in seconds; 0 for an empty
 * one. By the order of ids, which is the order of the rows' times as near as an age needs it.
 */
export async function outboxAges(pool: Pool, tables: readonly string[]): Promise<[table: string, seconds: number][]> {
  const queries = onPool(pool);
  const ages: [string, number][] = [];
  for (const table of tables) {
    const name = qualifiedIdentifier(table, 'the name of an outbox table');
    const oldest = await queries.one<{ seconds: number }>(
      `SELECT greatest(0, extract(epoch FROM clock_timestamp() - created_at))::float8 AS seconds
         FROM ${name} ORDER BY id LIMIT 1`,
      [],
    );
    ages.push([table, oldest?.seconds ?? 0]);
  }
  return ages;
}
