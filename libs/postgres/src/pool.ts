import { systemClock, type TimerClock } from '@gateway/service-kit';
import pg from 'pg';
import { PrimaryChoice } from './primary/choose-primary.js';
import { PrimaryClient } from './primary/primary-client.js';
import { Timelines } from './primary/timelines.js';

/** The logger that this package needs; `@gateway/service-kit`'s logger fits. */
export interface Log {
  info(facts: object, text: string): void;
  warn(facts: object, text: string): void;
  error(facts: object, text: string): void;
}

export type Pool = pg.Pool;

export interface PoolOptions {
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  /** Maximum number of connections. Default: CONNECTIONS_MAX. */
  readonly max?: number;
  /** Timeout of one statement. Default: STATEMENT_MS. */
  readonly statementTimeoutMs?: number;
  /** Additional server settings for these connections. Names and values without spaces. */
  readonly settings?: Readonly<Record<string, string>>;
  /**
   * Shared by the pools of a process. Default: separate for each pool. When a higher timeline
   * becomes known, connections to the previous primary are closed.
   */
  readonly timelines?: Timelines;
  readonly log: Log;
  /** Default: the system's clock. */
  readonly clock?: TimerClock;
}

const CONNECTIONS_MAX = 10;
const CONNECT_MS = 5_000;
const STATEMENT_MS = 30_000;
/** Added to the statement timeout: then the client gives up on a server that is silent. */
const UNANSWERED_MS = 5_000;
const IDLE_MS = 60_000;
const IDLE_IN_TRANSACTION_MS = 60_000;
const KEEP_ALIVE_AFTER_MS = 10_000;
/**
 * For every connection. JIT is off because no statement of the services runs long enough to profit
 * from compilation, and a wrong estimate delays a transaction by tens of milliseconds.
 */
const SETTINGS = { TimeZone: 'UTC', jit: 'off' };
/**
 * Connections are replaced after half an hour, so that they follow a changed address and release
 * memory of the server.
 */
const LIFETIME_SECONDS = 1_800;

/**
 * Creates a pool of connections to the primary. If the URL names several servers
 * (`postgres://user:password@a:5432,b:5432/db`), the pool searches for the primary. int8 is read as
 * bigint, timestamptz as Date, and numeric, date and timestamp as text (a Date would apply the
 * local time zone). The session's time zone is UTC. A connection fault is logged and the connection
 * is replaced; it never ends the process. The pool connects at the first query.
 * @throws TypeError for a URL that requests another server than the primary
 */
export function createPool(url: string, options: PoolOptions): Pool {
  const { applicationName, max, statementTimeoutMs, settings, timelines, log, clock = systemClock } = options;
  const statementMs = statementTimeoutMs ?? STATEMENT_MS;
  const choice = new PrimaryChoice(url, timelines ?? new Timelines(), clock);
  const first = takeOptions(choice.first);
  const pool = new pg.Pool({
    connectionString: first.url,
    Client: class extends PrimaryClient {
      constructor(config: pg.ClientConfig = {}) {
        super(config, choice);
        // Registered before the connection is verified and for its whole life: the driver reports a
        // fault to the query and as an event, and an `error` event without a listener ends the
        // process.
        this.on('error', (err) => log.warn({ err }, 'a database connection failed'));
      }
    },
    application_name: applicationName,
    max: max ?? CONNECTIONS_MAX,
    min: 0,
    connectionTimeoutMillis: clock.timeoutMs(CONNECT_MS),
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
  // The pool supports and awaits this option, but its types do not list it.
  Object.assign(pool.options, { onConnect: (client: PrimaryClient) => client.verify() });
  pool.on('error', () => undefined);
  return pool;
}

/** Separates the options from the URL: the driver would prefer them to the pool's options. */
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

/** Returns the numbers of idle and busy connections of these pools and of waiting queries. */
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

/** For this pool only: the driver's own table is shared by the whole process. */
function getTypeParser(oid: number, format?: 'text' | 'binary') {
  if (format !== 'binary') {
    if (oid === INT8) return BigInt;
    if (oid === INT8_ARRAY) return readInt8Array;
    if (oid === DATE || oid === TIMESTAMP) return String;
  }
  return pg.types.getTypeParser(oid, format ?? 'text') as (text: string) => unknown;
}

/** Supports one dimension only; BigInt throws for anything else. */
function readInt8Array(text: string): (bigint | null)[] {
  const items = text.slice(1, -1);
  return items === '' ? [] : items.split(',').map((item) => (item === 'NULL' ? null : BigInt(item)));
}
