import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { findEmbeddedPostgres } from './embedded-postgres.js';
import { removeForeignLock } from './left-over-server.js';
import { prepareDataDirectory } from './place-data.js';
import { initdbOf, initializeData, prepareStandbyData } from './postgres-data.js';
import { findRunProblem, serverUser } from './run-command.js';
import { ProbeRefused } from './server-kind.js';
import type { ProbeResult, ServerKind } from './server-kind.js';
import type { ServersOptions } from './server.js';

const LIMITS = ['max_connections=200', 'shared_buffers=128MB'];
/** invalid_password, invalid_authorization_specification, invalid_catalog_name */
const FINAL_CODES: unknown[] = ['28P01', '28000', '3D000'];

export const postgresKind: ServerKind = {
  name: 'postgres',
  title: 'PostgreSQL',
  urlVariables: ['GATEWAY_MIGRATION_URL', 'GATEWAY_POSTGRES_URL'],
  urlExample: 'postgres://user:password@host:5432/postgres',
  binaryVariable: 'GATEWAY_POSTGRES_BINARY',
  programName: 'postgres',
  minimumVersion: '14',
  installHint: 'Debian and Ubuntu: apt-get install postgresql; macOS: brew install postgresql',
  usualPlaces: [
    '/usr/lib/postgresql/*/bin',
    '/usr/pgsql-*/bin',
    '/usr/local/pgsql/bin',
    '/opt/homebrew/opt/postgresql*/bin',
    '/usr/local/opt/postgresql*/bin',
    '/Applications/Postgres.app/Contents/Versions/*/bin',
  ],
  versionPattern: /\(PostgreSQL\) (\d+(?:\.\d+)?)/,

  async refuseProgram(path) {
    const initdb = await initdbOf(path);
    return existsSync(initdb) ? findRunProblem(path) : `${initdb} is missing`;
  },

  findProject: (cacheDirectory) => findEmbeddedPostgres(postgresKind, cacheDirectory),
  url: (port, options) => `postgres://postgres:${encodeURIComponent(passwordOf(options))}@127.0.0.1:${port}/postgres`,
  probe: probePostgres,

  async prepare(program, port, options) {
    const durable = options.durable ?? true;
    const user = serverUser();
    const home = await prepareDataDirectory(options.stateDirectory, user);
    const follows = (await options.postgres?.follows?.()) ?? null;
    const data =
      follows === null
        ? await initializeData(program, home, user, { password: passwordOf(options), durable })
        : await prepareStandbyData(program, home, user, follows);
    await removeForeignLock(data);
    const settings = [
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      ...LIMITS,
      'logging_collector=off',
      'log_timezone=UTC',
      'timezone=UTC',
      // A commit still waits for its write, so a killed server loses no commit. A machine may.
      ...(durable ? [] : ['fsync=off', 'full_page_writes=off']),
      ...(options.postgres?.settings ?? []),
    ];
    return {
      args: ['-D', data, '-p', String(port), ...asArguments(settings)],
      user,
      stopSignals: ['SIGINT', 'SIGQUIT'],
      deathSignal: 'QUIT',
      mark: data,
      identity: data,
    };
  },

  async emptyState(options) {
    const home = await prepareDataDirectory(options.stateDirectory, serverUser());
    await rm(join(home, 'data'), { recursive: true, force: true });
  },

  container: (options) => ({
    image: 'postgres:18.6-bookworm',
    port: 5432,
    environment: { POSTGRES_PASSWORD: passwordOf(options), POSTGRES_INITDB_ARGS: '--encoding=UTF8 --locale=C' },
    command: ['postgres', ...asArguments(LIMITS)],
    dataDirectory: '/var/lib/postgresql',
  }),
};

function asArguments(settings: readonly string[]): string[] {
  return settings.flatMap((setting) => ['-c', setting]);
}

function passwordOf(options: ServersOptions): string {
  const password = options.postgres?.superuserPassword;
  if (!password) throw new Error('options.postgres.superuserPassword is needed to start PostgreSQL');
  return password;
}

/** Reads a server's version and identity: the data directory, visible to superusers. */
async function probePostgres(url: string, timeoutMs: number): Promise<ProbeResult> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    application_name: 'gateway-servers',
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const result = await client.query<{ version: string; directory: string | null }>(
      `SELECT current_setting('server_version') AS version,
              CASE WHEN pg_has_role('pg_read_all_settings', 'MEMBER') THEN current_setting('data_directory') END AS directory`,
    );
    const row = result.rows[0];
    return { version: row?.version.split(' ')[0] ?? 'unknown', identity: row?.directory ?? '' };
  } catch (error) {
    const { code, message } = error as Error & { code?: unknown };
    throw FINAL_CODES.includes(code) ? new ProbeRefused(message) : error;
  } finally {
    await client.end().catch(() => undefined);
  }
}
