import pg from 'pg';

const TIMEOUT_MS = 10_000;

const LEDGER = `
SELECT coalesce(pg_partition_root(relation.oid), relation.oid)::regclass::text AS name,
       sum(pg_total_relation_size(relation.oid))::text AS bytes
  FROM pg_class relation JOIN pg_namespace space ON space.oid = relation.relnamespace
 WHERE space.nspname = 'billing' AND relation.relkind IN ('r', 'm')
 GROUP BY 1`;
const WAL = `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::text AS bytes`;

export interface LedgerReading {
  /** Bytes of each billing table, including its partitions and indexes. */
  readonly tableBytes: Readonly<Record<string, number>>;
  readonly walBytes: number;
}

/** Reads the sizes of billing's tables and the WAL position of PostgreSQL. */
export class LedgerCounter {
  private constructor(
    private readonly client: pg.Client,
    /** The database process of this connection. Its wake-ups are not the gateway's. */
    readonly backendPid: number,
  ) {}

  static async open(address: string): Promise<LedgerCounter> {
    const client = new pg.Client({ connectionString: address, query_timeout: TIMEOUT_MS });
    client.on('error', () => undefined);
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    return new LedgerCounter(client, rows[0]?.pid ?? 0);
  }

  async read(): Promise<LedgerReading> {
    const { rows: tables } = await this.client.query<{ name: string; bytes: string }>(LEDGER);
    const { rows: wal } = await this.client.query<{ bytes: string }>(WAL);
    const named = tables.map(({ name, bytes }) => [name.replace(/^billing\./, ''), Number(bytes)] as const);
    return { tableBytes: Object.fromEntries(named), walBytes: Number(wal[0]?.bytes ?? NaN) };
  }

  close(): Promise<void> {
    return this.client.end();
  }
}
