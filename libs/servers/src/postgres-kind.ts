import { access, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findEmbeddedPostgres } from './find-embedded-postgres.js';
import { initdbOf, initializeData } from './initialize-data.js';
import { removeForeignLock } from './left-over-server.js';
import { placeData } from './place-data.js';
import { probePostgres } from './probe-postgres.js';
import type { ServerKind } from './server-kind.js';
import { refusalToRun, serverUser } from './server-user.js';
import type { ServersOptions } from './server.js';

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
    const present = await access(initdb).then(
      () => true,
      () => false,
    );
    if (!present) return `${initdb} is missing`;
    return refusalToRun(path, serverUser(), {});
  },

  findProject: (cacheDirectory) => findEmbeddedPostgres(postgresKind, cacheDirectory),
  url: (port, options) => `postgres://postgres:${encodeURIComponent(passwordOf(options))}@127.0.0.1:${port}/postgres`,
  probe: probePostgres,

  async prepare(program, port, options) {
    const durable = options.durable ?? true;
    const user = serverUser();
    const home = await placeData(options.stateDirectory, user);
    const data = await initializeData(program, home, user, { password: passwordOf(options), durable });
    await removeForeignLock(data);
    const settings = [
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      `max_connections=${CONNECTIONS_MAX}`,
      `shared_buffers=${SHARED_BUFFERS}`,
      'logging_collector=off',
      'log_timezone=UTC',
      'timezone=UTC',
      // Commits stay synchronous: without fsync that costs next to nothing, and a killed server
      // loses none.
      ...(durable ? [] : ['fsync=off', 'full_page_writes=off']),
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
    const home = await placeData(options.stateDirectory, serverUser());
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

function passwordOf(options: ServersOptions): string {
  const password = options.postgres?.superuserPassword;
  if (!password) throw new Error('options.postgres.superuserPassword is needed to start PostgreSQL');
  return password;
}
