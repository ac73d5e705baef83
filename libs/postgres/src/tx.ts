import type { ClientBase, QueryResult } from 'pg';
import { endsConnection } from './faults.js';
import type { Pool } from './pool.js';

export interface QueryOptions {
  /**
   * Prepares the statement under this name, once per connection. One name must always have the same
   * text.
   */
  readonly name?: string;
}

/** Queries within one transaction, or on the pool. */
export interface Tx {
  /** Returns all rows. */
  query<R>(text: string, values?: readonly unknown[], options?: QueryOptions): Promise<R[]>;
  /** Returns the only row, or null if there is none. Throws if there are several. */
  one<R>(text: string, values?: readonly unknown[], options?: QueryOptions): Promise<R | null>;
  /** Returns the number of written rows. */
  execute(text: string, values?: readonly unknown[], options?: QueryOptions): Promise<number>;
}

type Run = (text: string, values?: readonly unknown[], options?: QueryOptions) => Promise<QueryResult>;

/** Runs single statements without a transaction, each on any connection of the pool. */
export function onPool(pool: Pool): Tx {
  return queriesBy(async (text, values = [], options = {}) => {
    const client = await pool.connect();
    try {
      const result = await client.query({ text, values: [...values], ...options });
      client.release();
      return result;
    } catch (error) {
      // The pool's own query() closes the connection after every error, also after a violated
      // constraint.
      client.release(endsConnection(error));
      throw error;
    }
  });
}

/** Runs queries on one connection that the caller holds. */
export function onConnection(client: ClientBase): Tx {
  return queriesBy((text, values = [], options = {}) => client.query({ text, values: [...values], ...options }));
}

function queriesBy(run: Run): Tx {
  return {
    query: async <R>(...query: Parameters<Run>) => (await run(...query)).rows as R[],
    one: async <R>(...query: Parameters<Run>) => {
      const { rows } = await run(...query);
      if (rows.length > 1) throw new Error(`expected at most one row, got ${rows.length}`);
      return (rows[0] as R | undefined) ?? null;
    },
    execute: async (...query) => (await run(...query)).rowCount ?? 0,
  };
}
