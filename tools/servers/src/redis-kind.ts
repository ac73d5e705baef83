import { access, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findDebianProgram } from './find-debian-program.js';
import { probeRedis } from './probe-redis.js';
import type { ServerKind } from './server-kind.js';
import type { SentinelOptions, ServersOptions } from './server.js';

/** Admission stops at 85 % of it; with noeviction Redis refuses writes at 100 %. */
const MEMORY_MAX = '1gb';
const CONFIG_FILE = 'redis.conf';

export const redisKind: ServerKind = {
  name: 'redis',
  title: 'Redis',
  urlVariables: ['GATEWAY_REDIS_URL'],
  urlExample: 'redis://:password@host:6379',
  binaryVariable: 'GATEWAY_REDIS_BINARY',
  programName: 'redis-server',
  minimumVersion: '7',
  installHint: 'Debian and Ubuntu: apt-get install redis-server; macOS: brew install redis',
  usualPlaces: ['/snap/bin'],
  parseVersion: (text) => /\bv=(\d+\.\d+\.\d+)/.exec(text)?.[1] ?? null,
  refuseProgram: () => Promise.resolve(null),
  findProject: (cacheDirectory, options) =>
    findDebianProgram(
      redisKind,
      { packages: ['redis-server', 'redis-tools'], program: 'usr/bin/redis-server' },
      cacheDirectory,
      options,
    ),
  url(port, options) {
    const password = options.redis?.password;
    return `redis://${password ? `:${encodeURIComponent(password)}@` : ''}127.0.0.1:${port}`;
  },
  probe: probeRedis,

  async prepare(_program, port, options) {
    const home = join(options.stateDirectory, 'redis');
    await mkdir(home, { recursive: true, mode: 0o700 });
    const file = join(home, CONFIG_FILE);
    const { sentinel } = options.redis ?? {};
    const follows = (await options.redis?.follows?.()) ?? null;
    const settings: (readonly string[])[] = [
      ['bind', '127.0.0.1'],
      ['port', String(port)],
      ['dir', home],
      ...(sentinel ? sentinelSettings(options, sentinel) : commonSettings(options)),
      ...(options.redis?.announcePort ? [['replica-announce-port', String(options.redis.announcePort)]] : []),
      ...(follows === null ? [] : [['replicaof', '127.0.0.1', String(follows)]]),
      ['daemonize', 'no'],
      ['logfile', ''],
      // A rewritten title would hide the file name, which identifies a left-over server.
      ['set-proc-title', 'no'],
    ];
    const lines = settings.map(([name = '', ...values]) => [name, ...values.map(quote)].join(' '));
    // A Sentinel stores its state in this file and starts with it again.
    if (!sentinel || !(await hasFile(file))) await writeFile(file, `${lines.join('\n')}\n`, { mode: 0o600 });
    const args = sentinel ? [file, '--sentinel'] : [file];
    return { args, user: null, stopSignals: ['SIGTERM'], deathSignal: 'KILL', mark: file, identity: '{pid}' };
  },

  async emptyState(options) {
    const home = join(options.stateDirectory, 'redis');
    for (const name of await readdir(home)) {
      if (name !== CONFIG_FILE) await rm(join(home, name), { recursive: true, force: true });
    }
  },

  container: (options) => ({
    image: 'redis:7.4-alpine',
    port: 6379,
    environment: {},
    command: ['redis-server', ...commonSettings(options).flatMap(([name, ...values]) => [`--${name}`, ...values])],
    dataDirectory: '/data',
    files: [],
  }),
};

function hasFile(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

function commonSettings(options: ServersOptions): (readonly string[])[] {
  const password = options.redis?.password;
  return [
    ['appendonly', options.redis?.persist === true ? 'yes' : 'no'],
    ['appendfsync', 'everysec'],
    ['save', ''],
    ['maxmemory', MEMORY_MAX],
    ['maxmemory-policy', 'noeviction'],
    ...(options.redis?.databases ? [['databases', String(options.redis.databases)]] : []),
    ...(password
      ? [
          ['requirepass', password],
          ['masterauth', password],
        ]
      : []),
    ...(options.redis?.users ?? []),
  ];
}

/** Timeout of a failover, after which another Sentinel may try. */
const FAILOVER_MS = 10_000;

function sentinelSettings(options: ServersOptions, sentinel: SentinelOptions): (readonly string[])[] {
  const { name, port, primaryPassword, quorum, downAfterMs } = sentinel;
  const password = options.redis?.password;
  return [
    ['sentinel', 'monitor', name, '127.0.0.1', String(port), String(quorum)],
    ['sentinel', 'auth-pass', name, primaryPassword],
    ['sentinel', 'down-after-milliseconds', name, String(downAfterMs)],
    ['sentinel', 'failover-timeout', name, String(FAILOVER_MS)],
    ...(password
      ? [
          ['requirepass', password],
          ['sentinel', 'sentinel-pass', password],
        ]
      : []),
  ];
}

/** Quotes an argument: Redis reads double-quoted arguments with C-like escapes. */
function quote(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&')}"`;
}
