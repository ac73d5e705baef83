import type pg from 'pg';

/** A session that holds a lock or is ahead in its queue. */
export interface Blocker {
  readonly pid: number;
  /** Null for a prepared transaction, which has no session. */
  readonly user: string | null;
  readonly application: string | null;
}

/** Returns the sessions that currently block the server process `pid`. */
export async function blockersOf(client: pg.ClientBase, pid: number): Promise<Blocker[]> {
  const { rows } = await client.query<Blocker>(
    `SELECT blocker.pid, usename AS "user", application_name AS application
       FROM unnest(pg_blocking_pids($1)) AS blocker (pid) LEFT JOIN pg_stat_activity USING (pid)`,
    [pid],
  );
  return rows;
}
