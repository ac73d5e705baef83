/** The role of a server (standby or primary) with its timeline and position. */
export interface ServerState {
  /** Identifies the database; a copy has the identifier of its original. */
  readonly system: string;
  readonly isStandby: boolean;
  /** Null on a standby, where it may change during the read. */
  readonly timeline: number | null;
  /**
   * Position in the write-ahead log (`0/16B3748`): the last one written on a primary, or received
   * on a standby. Null: the standby has received nothing.
   */
  readonly position: string | null;
}

interface StateRow {
  readonly system: string;
  readonly standby: boolean;
  readonly file: string | null;
  readonly position: string | null;
}

/** Runs a query: a pool or a connection. */
interface Queryable {
  query(text: string): Promise<{ readonly rows: unknown[] }>;
}

/** A WAL file name begins with the timeline in hexadecimal. A standby has no current file. */
const STATE_SQL = `
  SELECT (pg_control_system()).system_identifier::text AS system, pg_is_in_recovery() AS standby,
         CASE WHEN NOT pg_is_in_recovery() THEN pg_walfile_name(pg_current_wal_lsn()) END AS file,
         (CASE WHEN pg_is_in_recovery()
               THEN greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())
               ELSE pg_current_wal_lsn() END)::text AS position`;
const TIMELINE_DIGITS = 8;

/** Reads a server's role, timeline and position. Any role of the database may do this. */
export async function readServerState(server: Queryable): Promise<ServerState> {
  const [row] = (await server.query(STATE_SQL)).rows as StateRow[];
  if (row === undefined) throw new Error('the server returned no state');
  const { system, standby, file, position } = row;
  const timeline = file === null ? null : Number.parseInt(file.slice(0, TIMELINE_DIGITS), 16);
  return { system, isStandby: standby, timeline, position };
}

/** Reports whether position `one` is before `other`, as `0/9` is before `0/10`. */
export function isBehind(one: string, other: string): boolean {
  return parsePosition(one) < parsePosition(other);
}

function parsePosition(position: string): bigint {
  const [high = '0', low = '0'] = position.split('/');
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`);
}
