import { pause } from '@gateway/service-kit';
import type { PoolClient } from 'pg';
import { isConnectionFault, isRetryable } from './faults.js';
import type { Pool } from './pool.js';
import { onConnection, type Tx } from './tx.js';

export interface TransactionOptions {
  /** `read committed` when absent. */
  readonly isolation?: 'read committed' | 'repeatable read' | 'serializable';
  readonly readOnly?: boolean;
  /**
   * How often the work is begun before a conflict is thrown; ATTEMPTS_MAX when absent, 1 never
   * repeats.
   */
  readonly attemptsMax?: number;
}

const ATTEMPTS_MAX = 5;
const RETRY_BASE_MS = 10;
const RETRY_MAX_MS = 500;

/**
 * Runs `work` in one transaction: commits when it resolves, rolls back when it rejects. After a
 * serialization failure or a deadlock everything is run again on a fresh transaction, so `work`
 * must have no effects outside of it. A connection is held until the end: never wait inside for the
 * bus, HTTP or anything but this database (docs/protocol.md#r18). A connection that fails during
 * COMMIT leaves it unknown whether the transaction happened: that error is thrown and not repeated.
 */
export async function inTransaction<T>(
  pool: Pool,
  work: (tx: Tx) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> {
  const attemptsMax = options.attemptsMax ?? ATTEMPTS_MAX;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await attemptTransaction(pool, work, options);
    } catch (error) {
      if (attempt >= attemptsMax || !isRetryable(error)) throw error;
      await delay(attempt);
    }
  }
}

async function attemptTransaction<T>(
  pool: Pool,
  work: (tx: Tx) => Promise<T>,
  options: TransactionOptions,
): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query(beginText(options));
    const result = await work(onConnection(client));
    await commit(client);
    client.release();
    return result;
  } catch (error) {
    client.release(!(await rolledBack(client, error)));
    throw error;
  }
}

function beginText({ isolation, readOnly }: TransactionOptions): string {
  return `BEGIN ISOLATION LEVEL ${isolation ?? 'read committed'}${readOnly === true ? ' READ ONLY' : ''}`;
}

/**
 * The server answers the COMMIT of a transaction in which a statement failed with ROLLBACK, and
 * calls it a success.
 */
async function commit(client: PoolClient): Promise<void> {
  const { command } = await client.query('COMMIT');
  if (command !== 'COMMIT') throw new Error('the transaction was rolled back: a failed statement in it was ignored');
}

/**
 * Whether the connection is clean again. One that failed is thrown away without asking it anything.
 */
async function rolledBack(client: PoolClient, error: unknown): Promise<boolean> {
  if (isConnectionFault(error)) return false;
  try {
    await client.query('ROLLBACK');
    return true;
  } catch {
    return false;
  }
}

/** Random over the whole range: two transactions that met once must not meet again. */
function delay(attempt: number): Promise<boolean> {
  const ceilingMs = Math.min(RETRY_MAX_MS, RETRY_BASE_MS * 2 ** attempt);
  return pause(Math.random() * ceilingMs);
}
