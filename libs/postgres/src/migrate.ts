import { every, retry } from '@gateway/service-kit';
import type { Knex } from 'knex';
import pg from 'pg';
import { ensureDatabaseRights } from './database-rights.js';
import { sqlStateOf } from './faults.js';
import { identifier } from './identifier.js';
import { blockersOf, type Blocker } from './lock-blockers.js';
import type { Log } from './log.js';
import { checkHistory, readMigrationFiles, type AppliedMigration, type MigrationFile } from './migration-files.js';
import { ensureRole, ensureRoleSetting, requireRole, type RoleSpec } from './roles.js';
import { CHECKSUM_TABLE, sqlSource } from './sql-source.js';

export interface MigrateOptions {
  /**
   * A role that may create schemas in the database, and roles (CREATEROLE; no superuser) unless
   * `rolesByOthers`.
   */
  readonly migrationUrl: string;
  /** Created when missing; new tables without a schema in their name go here. */
  readonly schema: string;
  /**
   * Files `NNNN_name.sql`, forward only. `${schema}`, `${role}` and the keys of `readers` are
   * placeholders in them.
   */
  readonly directory: URL | string;
  /**
   * The service's own role: may log in and use the schema. What it may do with each table stands in
   * the files.
   */
  readonly role: RoleSpec;
  /**
   * Further login roles that only read, by placeholder: e.g. `{finance: {…}}` is `${finance}` in
   * the files, which grant.
   */
  readonly readers?: Readonly<Record<string, RoleSpec>>;
  /** True: the roles are there, with their passwords, and only checked. */
  readonly rolesByOthers?: boolean;
  /** How long locks are waited for; WAITS when absent. */
  readonly waits?: MigrationWaits;
  readonly log: Log;
}

/** In milliseconds. */
export interface MigrationWaits {
  /**
   * How long a statement waits for a lock. What services ask of that table meanwhile waits behind
   * it.
   */
  readonly lockMs: number;
  /** For how long the new files are tried again while others hold a lock that they need. */
  readonly blockedMs: number;
  /** Longest pause between two tries, in which services have the table. */
  readonly pauseMs: number;
}

const HISTORY_TABLE = 'migrations';
const CONNECT_MS = 5_000;
const WAITS: MigrationWaits = { lockMs: 3_000, blockedMs: 240_000, pauseMs: 10_000 };
/**
 * How long a migration waits for another one of the same schema, which may be trying for
 * `blockedMs`.
 */
const LOCK_MS = 300_000;
/** How long one schema may wait for others, in milliseconds; its own work comes on top. */
export const MIGRATION_WAIT_MS_MAX = LOCK_MS + WAITS.blockedMs;
/** Of the longest pause: the first one. */
const FIRST_PAUSE_SHARE = 0.2;
/** Of the wait for a lock: how often it is asked who holds it. */
const LOOK_SHARE = 0.25;
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Brings one schema up to date: creates the schema and the roles, then applies the new files, all
 * in one transaction, so that a file that fails leaves nothing behind. Only one migration of a
 * schema runs at a time; a second one waits and then finds nothing to do. While others hold a lock
 * that the files need, it gives way to services and tries again, for minutes, naming who it is.
 * Refuses when an applied file was changed or removed. Services never call this.
 */
export async function migrate(options: MigrateOptions): Promise<{ applied: string[] }> {
  const schema = identifier(options.schema, 'the name of a schema');
  const files = readMigrationFiles(options.directory);
  const client = await connect(options.migrationUrl);
  try {
    await lock(client, schema);
    await prepare(client, schema, options);
    checkHistory(files, await readApplied(client, schema));
    const applied = await applyPatiently(client, options, schema, files);
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
  // A lost connection is reported by the statement that runs into it.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Held by the session until it ends, also when the migrator is killed. */
async function lock(client: pg.Client, schema: string): Promise<void> {
  await client.query(`SET lock_timeout = ${LOCK_MS}`);
  await client.query(`SELECT pg_advisory_lock(hashtextextended('gateway migrate ' || $1, 0))`, [schema]);
}

async function prepare(
  client: pg.Client,
  schema: string,
  { role, readers = {}, rolesByOthers, migrationUrl }: MigrateOptions,
): Promise<void> {
  const roles = [role, ...Object.values(readers)];
  for (const each of roles) {
    await (rolesByOthers === true ? requireRole(client, each) : ensureRole(client, each, migrationUrl));
  }
  const { rows } = await client.query<{ database: string }>('SELECT current_database() AS database');
  const database = pg.escapeIdentifier(rows[0]?.database ?? '');
  const schemas = await client.query('SELECT FROM pg_namespace WHERE nspname = $1', [schema]);
  // Asked with IF NOT EXISTS, it wants the right to make one also where there is nothing to make.
  if (schemas.rowCount === 0) await client.query(`CREATE SCHEMA ${schema}`);
  await ensureDatabaseRights(
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
 * Repeats what failed only because others hold a lock: a reader of hours (a backup, a report) would
 * else stop each service that reads the table, since a statement that waits lets nobody by.
 */
async function applyPatiently(
  client: pg.Client,
  options: MigrateOptions,
  schema: string,
  files: readonly MigrationFile[],
): Promise<string[]> {
  const { log, waits = WAITS } = options;
  let pid: number | null = null;
  let blockers: readonly Blocker[] = [];
  // Asked during the wait: afterwards the server no longer knows who was in the way.
  const looks = every(waits.lockMs * LOOK_SHARE, async () => {
    const found = pid === null ? [] : await blockersOf(client, pid);
    if (found.length > 0) blockers = found;
  });
  const attempt = async (): Promise<string[]> => {
    blockers = [];
    try {
      return await applyNew(options, schema, files, (connected) => (pid = connected));
    } catch (err) {
      if (isLockFault(err)) log.warn({ schema, blockers }, 'others hold a lock that the migration needs');
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
  return sqlStateOf(error) === LOCK_NOT_AVAILABLE;
}

/** `connected` is told the server process of each connection, before it is used. */
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
  // Loaded here only: services use the rest of this package and would pay for it at every start.
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
    // Left behind by a migrator that was killed: whoever holds the advisory lock is the only one.
    await db.migrate.forceFreeMigrationsLock(config);
    const [, names] = (await db.migrate.latest(config)) as [number, string[]];
    return names;
  } finally {
    await db.destroy();
  }
}
