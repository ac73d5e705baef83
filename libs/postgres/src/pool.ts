import pg from 'pg';
import { PrimaryChoice } from './choose-primary.js';
import type { Log } from './log.js';
import { PrimaryClient } from './primary-client.js';
import { Timelines } from './timelines.js';

export type Pool = pg.Pool;

export interface PoolOptions {
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  /** Most connections at once; CONNECTIONS_MAX when absent. */
  readonly max?: number;
  /** Longest time that one statement may run; STATEMENT_MS when absent. */
  readonly statementTimeoutMs?: number;
  /**
   * Settings of the server for these connections, besides those that all have. Names and values
   * without spaces.
   */
  readonly settings?: Readonly<Record<string, string>>;
  /**
   * Shared by the pools of a process; a pool's own when absent. When it learns of a higher
   * timeline,
   * the connections to the primary before are broken off.
   */
  readonly timelines?: Timelines;
  readonly log: Log;
}

const CONNECTIONS_MAX = 10;
const CONNECT_MS = 5_000;
const STATEMENT_MS = 30_000;
/**
 * Added to the statement's time before the client gives up by itself: for a server that no longer
 * answers at all.
 */
const UNANSWERED_MS = 5_000;
const IDLE_MS = 60_000;
const IDLE_IN_TRANSACTION_MS = 60_000;
const KEEP_ALIVE_AFTER_MS = 10_000;
/**
 * For every connection. No statement of ours runs long enough to earn back what compiling it costs,
 * and a guess that one might makes a transaction late by tens of milliseconds.
 */
const SETTINGS = { TimeZone: 'UTC', jit: 'off' };
/**
 * Connections are replaced after half an hour, so that they follow a moved address and a server's
 * memory is freed.
 */
const LIFETIME_SECONDS = 1_800;

/**
 * A pool of connections to the primary, which is looked for where the URL names several servers
 * (`postgres://user:password@a:5432,b:5432/db`). int8 arrives as bigint, timestamptz as Date,
 * numeric, date and timestamp
 * as text (a Date would put them into the machine's time zone). The session's time zone is UTC. A
 * fault of a connection is logged and the connection replaced; it never ends the process. Nothing
 * connects before the first query. @throws TypeError for a URL that asks for anything but the
 * primary
 */
export function createPool(url: string, options: PoolOptions): Pool {
  const { applicationName, max, statementTimeoutMs, settings, timelines, log } = options;
  const statementMs = statementTimeoutMs ?? STATEMENT_MS;
  const choice = new PrimaryChoice(url, timelines ?? new Timelines());
  const first = takeOptions(choice.first);
  const pool = new pg.Pool({
    connectionString: first.url,
    Client: class extends PrimaryClient {
      constructor(config: pg.ClientConfig = {}) {
        super(config, choice);
        // For the life of the connection, from before it is verified: the driver reports a fault to
        // the query and as an event, and an event that nobody hears ends the process.
        this.on('error', (err) => log.warn({ err }, 'a database connection failed'));
      }
    },
    application_name: applicationName,
    max: max ?? CONNECTIONS_MAX,
    min: 0,
    connectionTimeoutMillis: CONNECT_MS,
    idleTimeoutMillis: IDLE_MS,
    maxLifetimeSeconds: LIFETIME_SECONDS,
    statement_timeout: statementMs,
    query_timeout: statementMs + UNANSWERED_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    allowExitOnIdle: false,
    options: `${first.options} ${optionsOf({ ...SETTINGS, ...settings })}`.trim(),
    types: { getTypeParser },
  });
  // The pool waits for it, which its types do not say.
  Object.assign(pool.options, { onConnect: (client: PrimaryClient) => client.verify() });
  pool.on('error', () => undefined);
  return pool;
}

/** Options of the URL apart from it: left in it, the driver takes them instead of ours. */
function takeOptions(text: string): { readonly url: string; readonly options: string } {
  const url = new URL(text);
  const options = url.searchParams.get('options');
  if (options === null) return { url: text, options: '' };
  url.searchParams.delete('options');
  return { url: url.href, options };
}

function optionsOf(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
}

/** How many connections of these pools are idle and in use, and how many queries wait for one. */
export function poolConnections(pools: readonly Pool[]): ['idle' | 'busy' | 'waiting', number][] {
  const sum = (read: (pool: Pool) => number): number => pools.reduce((total, pool) => total + read(pool), 0);
  return [
    ['idle', sum(({ idleCount }) => idleCount)],
    ['busy', sum(({ totalCount, idleCount }) => totalCount - idleCount)],
    ['waiting', sum(({ waitingCount }) => waitingCount)],
  ];
}

const INT8 = 20;
const INT8_ARRAY = 1016;
const DATE = 1082;
const TIMESTAMP = 1114;

/** Of this pool only: the driver's own table is shared by everything in the process. */
function getTypeParser(oid: number, format?: 'text' | 'binary') {
  if (format !== 'binary') {
    if (oid === INT8) return BigInt;
    if (oid === INT8_ARRAY) return readInt8Array;
    if (oid === DATE || oid === TIMESTAMP) return String;
  }
  return pg.types.getTypeParser(oid, format ?? 'text') as (text: string) => unknown;
}

/** One dimension only: anything else fails loudly in BigInt. */
function readInt8Array(text: string): (bigint | null)[] {
  const items = text.slice(1, -1);
  return items === '' ? [] : items.split(',').map((item) => (item === 'NULL' ? null : BigInt(item)));
}
