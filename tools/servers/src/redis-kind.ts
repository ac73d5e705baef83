import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { findDebianProgram } from './debian-packages.js';
import { ProbeRefused } from './server-kind.js';
import type { ProbeResult, ServerKind } from './server-kind.js';
import type { SentinelOptions, ServersOptions } from './server.js';

/** Admission stops at 85 % of it; with noeviction Redis refuses writes at 100 %. */
const MEMORY_MAX = '1gb';
const CONFIG_FILE = 'redis.conf';
const DEFAULT_PORT = 6379;
/** Timeout of a failover, after which another Sentinel may try. */
const FAILOVER_MS = 10_000;
const SENTINEL_TIMEOUT_MS = 1_000;

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
  versionPattern: /\bv=(\d+\.\d+\.\d+)/,
  findProject: (cacheDirectory, options) =>
    findDebianProgram(redisKind, ['redis-server', 'redis-tools'], 'usr/bin/redis-server', cacheDirectory, options),
  url(port, options) {
    const password = options.redis?.password;
    return `redis://${password ? `:${encodeURIComponent(password)}@` : ''}127.0.0.1:${port}`;
  },
  probe: probeRedis,

  async prepare(_program, port, options) {
    const home = join(options.stateDirectory, 'redis');
    await mkdir(home, { recursive: true, mode: 0o700 });
    const file = join(home, CONFIG_FILE);
    const { sentinel, announcePort } = options.redis ?? {};
    const follows = (await options.redis?.follows?.()) ?? null;
    const settings: (readonly string[])[] = [
      ['bind', '127.0.0.1'],
      ['port', String(port)],
      ['dir', home],
      ...(sentinel ? sentinelSettings(options, sentinel) : commonSettings(options)),
      ...(announcePort ? [['replica-announce-port', String(announcePort)]] : []),
      ...(follows === null ? [] : [['replicaof', '127.0.0.1', String(follows)]]),
      ['daemonize', 'no'],
      ['logfile', ''],
      // A rewritten title would hide the file name, which identifies a left-over server.
      ['set-proc-title', 'no'],
    ];
    const lines = settings.map(([name = '', ...values]) => [name, ...values.map(quote)].join(' '));
    // A Sentinel stores its state in this file and starts with it again.
    if (!sentinel || !existsSync(file)) await writeFile(file, `${lines.join('\n')}\n`, { mode: 0o600 });
    const args = sentinel ? [file, '--sentinel'] : [file];
    return { args, user: null, stopSignals: ['SIGTERM'], deathSignal: 'KILL', mark: file, identity: '{pid}' };
  },

  async emptyState(options) {
    const home = join(options.stateDirectory, 'redis');
    for (const name of await readdir(home))
      if (name !== CONFIG_FILE) await rm(join(home, name), { recursive: true, force: true });
  },

  container: (options) => ({
    image: 'redis:7.4.11-bookworm',
    port: 6379,
    command: ['redis-server', ...commonSettings(options).flatMap(([name, ...values]) => [`--${name}`, ...values])],
    dataDirectory: '/data',
  }),
};

function commonSettings({ redis = {} }: ServersOptions): (readonly string[])[] {
  const { password, persist, databases, users = [] } = redis;
  return [
    ['appendonly', persist === true ? 'yes' : 'no'],
    ['appendfsync', 'everysec'],
    ['save', ''],
    ['maxmemory', MEMORY_MAX],
    ['maxmemory-policy', 'noeviction'],
    ...(databases ? [['databases', String(databases)]] : []),
    ...(password ? ['requirepass', 'masterauth'].map((name) => [name, password]) : []),
    ...users,
  ];
}

function sentinelSettings({ redis }: ServersOptions, sentinel: SentinelOptions): (readonly string[])[] {
  const { name, port, primaryPassword, quorum, downAfterMs } = sentinel;
  return [
    ['sentinel', 'monitor', name, '127.0.0.1', String(port), String(quorum)],
    ['sentinel', 'auth-pass', name, primaryPassword],
    ['sentinel', 'down-after-milliseconds', name, String(downAfterMs)],
    ['sentinel', 'failover-timeout', name, String(FAILOVER_MS)],
    ...(redis?.password
      ? [['requirepass'], ['sentinel', 'sentinel-pass']].map((words) => [...words, redis.password ?? ''])
      : []),
  ];
}

/** Quotes an argument: Redis reads double-quoted arguments with C-like escapes. */
function quote(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&')}"`;
}

/**
 * Reads version and process ID (the identity) from INFO. A server that is still loading is not
 * ready. A server that was not started here must be a primary that keeps data, for admission.
 */
export function probeRedis(text: string, timeoutMs: number, isOwn = false): Promise<ProbeResult> {
  return withRedis(text, timeoutMs, async (redis) => {
    await redis.ping();
    const info = await redis.info();
    const read = (name: string): string => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1] ?? 'unknown';
    const policy = read('maxmemory_policy');
    // Valkey reports the version of Redis that it is compatible with, too.
    const version = [read('valkey_version'), read('redis_version')].find((found) => found !== 'unknown') ?? 'unknown';
    if (isOwn) return { version, identity: read('process_id') };
    if (read('redis_mode') === 'cluster') throw new ProbeRefused('it is a cluster node: set cluster-enabled no');
    if (read('role') !== 'master') throw new ProbeRefused('it is a replica: give the address of its primary');
    if (policy !== 'noeviction') throw new ProbeRefused(`its maxmemory-policy is ${policy}: set it to noeviction`);
    return { version, identity: read('process_id') };
  });
}

/**
 * Returns the port of the primary that a Sentinel on this machine has under this name.
 * @throws Error if it does not respond or does not know the name
 */
export function askSentinel(port: number, password: string, name: string): Promise<number> {
  return withRedis(`redis://:${encodeURIComponent(password)}@127.0.0.1:${port}`, SENTINEL_TIMEOUT_MS, async (redis) => {
    const found = (await redis.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name)) as [string, string] | null;
    if (found === null) throw new Error(`the Sentinel does not know ${name}`);
    return Number(found[1]);
  });
}

/** @throws ProbeRefused if the server refuses the user or a command */
async function withRedis<T>(text: string, timeoutMs: number, use: (redis: Redis) => Promise<T>): Promise<T> {
  const { hostname, port, protocol, username, password } = new URL(text);
  const { Redis } = await import('ioredis');
  const redis = new Redis({
    host: hostname,
    port: Number(port) || DEFAULT_PORT,
    ...(protocol === 'rediss:' && { tls: {} }),
    protocol: 2,
    lazyConnect: true,
    enableReadyCheck: false,
    disableClientInfo: true,
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
    retryStrategy: () => null,
  });
  let problem: Error | undefined;
  redis.on('error', (error: Error) => (problem = error));
  try {
    await redis.connect();
    if (password !== '')
      await redis.auth(...([username, password].filter((part) => part !== '').map(decodeURIComponent) as [string]));
    return await use(redis);
  } catch (error) {
    const { message } = error as Error;
    if (/^(NOAUTH|WRONGPASS|ERR|NOPERM)\b/.test(message)) throw new ProbeRefused(message);
    throw problem ?? error;
  } finally {
    redis.disconnect();
  }
}
