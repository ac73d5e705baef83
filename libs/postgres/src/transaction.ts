import { pause } from '@gateway/service-kit';
import type { PoolClient } from 'pg';
import { endsConnection, isRetryable } from './faults.js';
import type { Pool } from './pool.js';
import { onConnection, type Tx } from './tx.js';

export interface TransactionOptions {
  /** Default: `read committed`. */
  readonly isolation?: 'read committed' | 'repeatable read' | 'serializable';
  readonly readOnly?: boolean;
  /** Attempts before a conflict is thrown. Default: ATTEMPTS_MAX; 1 never repeats. */
  readonly attemptsMax?: number;
}

const ATTEMPTS_MAX = 5;
const RETRY_BASE_MS = 10;
const RETRY_MAX_MS = 500;

/**
 * Runs `work` in one transaction: commits when it resolves, rolls back when it rejects. After a
 * serialization failure or a deadlock `work` runs again in a new transaction, so it must have no
 * other effects. A connection is held until the end: never wait inside for the bus, HTTP or
 * anything but this database (docs/protocol.md#r18). If the connection fails during COMMIT, the
 * result of the transaction is unknown: the error is thrown and the transaction is not repeated.
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
 * If a statement of the transaction failed, the server replies to COMMIT with ROLLBACK and reports
 * success.
 */
async function commit(client: PoolClient): Promise<void> {
  const { command } = await client.query('COMMIT');
  if (command !== 'COMMIT') throw new Error('the transaction was rolled back: a failed statement in it was ignored');
}

/** Returns whether the connection is reusable. One that is not is closed without another query. */
async function rolledBack(client: PoolClient, error: unknown): Promise<boolean> {
  if (endsConnection(error)) return false;
  try {
    await client.query('ROLLBACK');
    return true;
  } catch {
    return false;
  }
}

/** Random over the whole range, so that two transactions do not collide again. */
function delay(attempt: number): Promise<boolean> {
  const ceilingMs = Math.min(RETRY_MAX_MS, RETRY_BASE_MS * 2 ** attempt);
  return pause(Math.random() * ceilingMs);
}
