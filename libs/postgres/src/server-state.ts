/** Where a server stands: as a standby, or as the primary of a timeline. */
export interface ServerState {
  /** Tells databases apart: a copy has that of its original. */
  readonly system: string;
  readonly isStandby: boolean;
  /** Of a standby: null, it may change while it is read. */
  readonly timeline: number | null;
  /** Up to where it has written, or a standby has received: `0/16B3748`. Null: nothing received. */
  readonly position: string | null;
}

interface StateRow {
  readonly system: string;
  readonly standby: boolean;
  readonly file: string | null;
  readonly position: string | null;
}

/** What can answer a query: a pool or a connection. */
interface Answers {
  query(text: string): Promise<{ readonly rows: unknown[] }>;
}

/** The name of a file of the log begins with the timeline, in hexadecimal; a standby names none. */
const STATE_SQL = `
  SELECT (pg_control_system()).system_identifier::text AS system, pg_is_in_recovery() AS standby,
         CASE WHEN NOT pg_is_in_recovery() THEN pg_walfile_name(pg_current_wal_lsn()) END AS file,
         (CASE WHEN pg_is_in_recovery()
               THEN greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())
               ELSE pg_current_wal_lsn() END)::text AS position`;
const TIMELINE_DIGITS = 8;

/** Asks a server for its role, timeline and position; any role of the database may ask. */
export async function readServerState(server: Answers): Promise<ServerState> {
  const [row] = (await server.query(STATE_SQL)).rows as StateRow[];
  if (row === undefined) throw new Error('the server does not tell its state');
  const { system, standby, file, position } = row;
  const timeline = file === null ? null : Number.parseInt(file.slice(0, TIMELINE_DIGITS), 16);
  return { system, isStandby: standby, timeline, position };
}

/** Whether position `one` lies behind `other`, as `0/9` behind `0/10`. */
export function isBehind(one: string, other: string): boolean {
  return numberOf(one) < numberOf(other);
}

function numberOf(position: string): bigint {
  const [high = '0', low = '0'] = position.split('/');
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`);
}
