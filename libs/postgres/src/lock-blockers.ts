import type pg from 'pg';

/** A session that holds a lock, or waits for it in front of others. */
export interface Blocker {
  readonly pid: number;
  /** Null where it belongs to none: a prepared transaction has no session. */
  readonly user: string | null;
  readonly application: string | null;
}

/** Who keeps the server process `pid` waiting at this moment; nobody when it does not wait. */
export async function blockersOf(client: pg.ClientBase, pid: number): Promise<Blocker[]> {
  const { rows } = await client.query<Blocker>(
    `SELECT blocker.pid, usename AS "user", application_name AS application
       FROM unnest(pg_blocking_pids($1)) AS blocker (pid) LEFT JOIN pg_stat_activity USING (pid)`,
    [pid],
  );
  return rows;
}
