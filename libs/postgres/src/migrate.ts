import type { Knex } from 'knex';
import pg from 'pg';
import { every, retry } from '@gateway/service-kit';
import { ensureDatabasePrivileges } from './database-privileges.js';
import { readSqlState } from './faults.js';
import { identifier } from './identifier.js';
import type { Log } from './pool.js';
import { type AppliedMigration, type MigrationFile, checkHistory, readMigrationFiles } from './migration-files.js';
import { type RoleSpec, ensureRole, ensureRoleSetting, requireRole } from './roles.js';
import { CHECKSUM_TABLE, sqlSource } from './sql-source.js';

export interface MigrateOptions {
  /**
   * A role that may create schemas in the database, and roles (CREATEROLE, not superuser) unless
   * `externalRoles` is set.
   */
  readonly migrationUrl: string;
  /** Created if it does not exist. New tables without a schema in their name are created here. */
  readonly schema: string;
  /**
   * Files `NNNN_name.sql`, forward only. They may use the placeholders `${schema}`, `${role}` and
   * the keys of `readers`.
   */
  readonly directory: URL | string;
  /**
   * The service's own role. It may sign in and use the schema. The files grant its privileges on
   * each table.
   */
  readonly role: RoleSpec;
  /**
   * Further read-only login roles by placeholder: `{finance: {…}}` is `${finance}` in the files,
   * which grant its privileges.
   */
  readonly readers?: Readonly<Record<string, RoleSpec>>;
  /** True: the roles exist with their passwords and are only checked. */
  readonly externalRoles?: boolean;
  /** Timeouts for locks. Default: WAITS. */
  readonly waits?: MigrationWaits;
  readonly log: Log;
}

/** Timeouts for locks, in milliseconds. */
export interface MigrationWaits {
  /** Timeout of a statement that waits for a lock: statements of services wait behind it. */
  readonly lockMs: number;
  /** Time during which the new files are retried while other sessions hold a required lock. */
  readonly blockedMs: number;
  /** Longest pause between two attempts, in which services can use the table. */
  readonly pauseMs: number;
}

const HISTORY_TABLE = 'migrations';
const CONNECT_MS = 5_000;
const WAITS: MigrationWaits = { lockMs: 3_000, blockedMs: 240_000, pauseMs: 10_000 };
/** Maximum wait for another migration of the same schema, which may retry for `blockedMs`. */
const LOCK_MS = 300_000;
/** Maximum time in milliseconds that one schema waits for other sessions. */
export const MIGRATION_WAIT_MS_MAX = LOCK_MS + WAITS.blockedMs;
/** First pause as a share of the longest. */
const FIRST_PAUSE_SHARE = 0.2;
/** Interval between queries for the lock holders, as a share of the lock timeout. */
const BLOCKER_POLL_SHARE = 0.25;
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Brings one schema up to date: creates the schema and the roles, then applies the new files in one
 * transaction, so that a failing file leaves no changes. Only one migration of a schema runs at a
 * time; a second one waits and then finds nothing to do. While other sessions hold a required lock,
 * it gives way to services, retries for minutes and logs the sessions. Refuses an applied file that
 * was changed or removed. Services never call this function.
 */
export async function migrate(options: MigrateOptions): Promise<{ applied: string[] }> {
  const schema = identifier(options.schema, 'the name of a schema');
  const files = readMigrationFiles(options.directory);
  const client = await connect(options.migrationUrl);
  try {
    await lock(client, schema);
    await prepare(client, schema, options);
    checkHistory(files, await readApplied(client, schema));
    const applied = await applyWithRetries(client, options, schema, files);
    options.log.info({ schema, applied }, applied.length === 0 ? 'schema is up to date' : 'schema migrated');
    return { applied };
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'migrate',
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
  });
  // The next statement reports a lost connection.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** The session holds this lock until it ends, also if the migrator is killed. */
async function lock(client: pg.Client, schema: string): Promise<void> {
  await client.query(`SET lock_timeout = ${LOCK_MS}`);
  await client.query(`SELECT pg_advisory_lock(hashtextextended('gateway migrate ' || $1, 0))`, [schema]);
}

async function prepare(
  client: pg.Client,
  schema: string,
  { role, readers = {}, externalRoles, migrationUrl }: MigrateOptions,
): Promise<void> {
  const roles = [role, ...Object.values(readers)];
  for (const each of roles) {
    await (externalRoles === true ? requireRole(client, each) : ensureRole(client, each, migrationUrl));
  }
  const { rows } = await client.query<{ database: string }>('SELECT current_database() AS database');
  const database = pg.escapeIdentifier(rows[0]?.database ?? '');
  const schemas = await client.query('SELECT FROM pg_namespace WHERE nspname = $1', [schema]);
  // `IF NOT EXISTS` would require the privilege to create a schema even if the schema exists.
  if (schemas.rowCount === 0) await client.query(`CREATE SCHEMA ${schema}`);
  await ensureDatabasePrivileges(
    client,
    roles.map(({ name }) => identifier(name, 'the name of a role')),
  );
  await client.query(`GRANT USAGE ON SCHEMA ${schema} TO ${role.name}`);
  await ensureRoleSetting(client, { role: role.name, database, name: 'search_path', value: schema });
  for (const { name: reader } of Object.values(readers)) {
    await ensureRoleSetting(client, { role: reader, database, name: 'default_transaction_read_only', value: 'on' });
  }
  await client.query(
    `CREATE TABLE IF NOT EXISTS ${schema}.${CHECKSUM_TABLE} (name text PRIMARY KEY, checksum text NOT NULL)`,
  );
}

async function readApplied(client: pg.Client, schema: string): Promise<AppliedMigration[]> {
  const { rows } = await client.query<{ history: string | null }>('SELECT to_regclass($1)::text AS history', [
    `${schema}.${HISTORY_TABLE}`,
  ]);
  if (rows[0]?.history === null) return [];
  const applied = await client.query<AppliedMigration>(
    `SELECT m.name, c.checksum FROM ${schema}.${HISTORY_TABLE} m LEFT JOIN ${schema}.${CHECKSUM_TABLE} c USING (name)
      ORDER BY m.id`,
  );
  return applied.rows;
}

/**
 * Retries attempts that failed only because other sessions hold a lock. A waiting statement blocks
 * all later ones, so a long reader (a backup, a report) would otherwise stop each service that
 * reads the table.
 */
async function applyWithRetries(
  client: pg.Client,
  options: MigrateOptions,
  schema: string,
  files: readonly MigrationFile[],
): Promise<string[]> {
  const { log, waits = WAITS } = options;
  let pid: number | null = null;
  let blockers: readonly Blocker[] = [];
  // Queried during the wait, because afterwards the server no longer knows the blocking sessions.
  const looks = every(waits.lockMs * BLOCKER_POLL_SHARE, async () => {
    const found = pid === null ? [] : await findBlockers(client, pid);
    if (found.length > 0) blockers = found;
  });
  const attempt = async (): Promise<string[]> => {
    blockers = [];
    try {
      return await applyNew(options, schema, files, (connected) => (pid = connected));
    } catch (err) {
      if (isLockFault(err)) log.warn({ schema, blockers }, 'other sessions hold a lock that the migration needs');
      throw err;
    } finally {
      pid = null;
    }
  };
  try {
    return await retry(attempt, {
      baseMs: waits.pauseMs * FIRST_PAUSE_SHARE,
      maxMs: waits.pauseMs,
      random: Math.random,
      signal: AbortSignal.timeout(waits.blockedMs),
      mayPass: isLockFault,
    });
  } finally {
    await looks.stop();
  }
}

function isLockFault(error: unknown): boolean {
  return readSqlState(error) === LOCK_NOT_AVAILABLE;
}

/** `connected` receives the server process ID of each connection before its use. */
async function applyNew(
  options: MigrateOptions,
  schema: string,
  files: readonly MigrationFile[],
  connected: (pid: number) => void,
): Promise<string[]> {
  const { readers = {}, role, waits = WAITS } = options;
  const values = {
    schema,
    role: role.name,
    ...Object.fromEntries(Object.entries(readers).map(([key, reader]) => [key, reader.name])),
  };
  // Loaded only here. Services use the rest of this package and would load it at every start.
  const { default: knex } = await import('knex');
  const db = knex({
    client: 'pg',
    connection: { connectionString: options.migrationUrl, application_name: 'migrate' },
    searchPath: [schema],
    pool: {
      min: 0,
      max: 1,
      afterCreate(connection: pg.Client, done: (err: unknown, connection: pg.Client) => void) {
        connection
          .query<{ pid: number }>(`SELECT set_config('lock_timeout', $1, false), pg_backend_pid() AS pid`, [
            String(waits.lockMs),
          ])
          .then(
            ({ rows: [row] }) => {
              if (row !== undefined) connected(row.pid);
              done(null, connection);
            },
            (err: unknown) => done(err, connection),
          );
      },
    },
    acquireConnectionTimeout: CONNECT_MS,
    asyncStackTraces: false,
    log: { warn: (warning) => options.log.warn({ schema, warning }, 'migration'), deprecate: () => undefined },
  });
  const config: Knex.MigratorConfig = {
    migrationSource: sqlSource(files, schema, values),
    schemaName: schema,
    tableName: HISTORY_TABLE,
    disableTransactions: false,
  };
  try {
    // Left behind by a killed migrator. The advisory lock excludes other migrators.
    await db.migrate.forceFreeMigrationsLock(config);
    const [, names] = (await db.migrate.latest(config)) as [number, string[]];
    return names;
  } finally {
    await db.destroy();
  }
}

/** A session that holds a lock or is ahead in its queue. */
export interface Blocker {
  readonly pid: number;
  /** Null for a prepared transaction, which has no session. */
  readonly user: string | null;
  readonly application: string | null;
}

/** Returns the sessions that currently block the server process `pid`. */
export async function findBlockers(client: pg.ClientBase, pid: number): Promise<Blocker[]> {
  const { rows } = await client.query<Blocker>(
    `SELECT blocker.pid, usename AS "user", application_name AS application
       FROM unnest(pg_blocking_pids($1)) AS blocker (pid) LEFT JOIN pg_stat_activity USING (pid)`,
    [pid],
  );
  return rows;
}
