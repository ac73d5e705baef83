import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { connectBus, natsAuthorization } from '@gateway/bus';
import { DATABASE_BUCKET, MESSAGES } from '@gateway/contracts/messages';
import { readServerState, withServer } from '@gateway/postgres';
import {
  askSentinel,
  freePort,
  startServers,
  type RunningServer,
  type ServerName,
  type ServersOptions,
} from '@gateway/servers';
import { changeUrl, pause } from '@gateway/service-kit';
import { admissionUser } from '@gateway/setup';
import type { ServerRestarter } from '../children/restart-servers.js';
import type { Secrets } from '../secrets.js';
import type { SystemOptions } from '../system-options.js';
import * as topology from './topology.js';

/** What services are told, and all servers by their names. */
export interface Cluster {
  /** Of each kind the one that leads now: its URL and pid change. */
  readonly servers: Record<ServerName, RunningServer>;
  readonly members: Readonly<Record<string, RunningServer>>;
  readonly urls: Readonly<Record<ServerName, string>>;
}

const PRIMARY_WAIT_MS = 60_000;
const REDIS_PRIMARY_WAIT_MS = 15_000;
const STREAMS_WAIT_MS = 60_000;
const LOOK_MS = 100;
const LEADER_LOOK_MS = 300;
const ASK_MS = 2_000;
const DRAIN_MS = 1_000;
/** A server that is silent so long is given up by the others. */
const SILENT_SECONDS = 3;

type Members = Record<string, RunningServer>;

/**
 * Starts PostgreSQL with two standbys, three NATS servers, Redis with a replica and three
 * Sentinels;
 * leaves nothing when one fails.
 */
export async function startCluster(
  options: SystemOptions,
  secrets: Secrets,
  restarter: ServerRestarter,
): Promise<Cluster> {
  const members: Members = {};
  const start = async (name: string, kind: ServerName, own: Omit<ServersOptions, 'stateDirectory'>): Promise<void> => {
    const started = await startServers([kind], {
      stateDirectory: `${options.stateDirectory}/servers/${name}`,
      durable: options.durable,
      // A URL would be the same server for all members.
      env: Object.fromEntries(Object.entries(process.env).filter(([key]) => !/^GATEWAY_.*_URL(_FILE)?$/.test(key))),
      log: (line) => {
        if (!line.includes(' skipped: ')) options.log(`  ${name}: ${line}`);
      },
      onExit: (_kind, code) => restarter.ended(name, code),
      ...own,
    });
    Object.assign(members, { [name]: started[kind] });
  };
  try {
    const [postgres, nats, redis] = await Promise.all([
      startPostgres(options.stateDirectory, secrets, start, members, restarter),
      startNats(secrets, start),
      startRedis(options.stateDirectory, secrets, start, members, restarter),
    ]);
    return {
      members,
      urls: { postgres: postgres.url, nats: nats.url, redis: redis.url },
      servers: {
        postgres: leaderOf(members, topology.POSTGRES_MEMBERS, postgres.leader),
        nats: leaderOf(members, topology.NATS_MEMBERS, () => aliveOf(members, topology.NATS_MEMBERS)),
        redis: leaderOf(members, topology.REDIS_MEMBERS, redis.leader),
      },
    };
  } catch (error) {
    restarter.stop();
    await Promise.all(Object.values(members).map((server) => server.stop()));
    throw error;
  }
}

type Start = (name: string, kind: ServerName, own: Omit<ServersOptions, 'stateDirectory'>) => Promise<void>;

async function startPostgres(
  stateDirectory: string,
  secrets: Secrets,
  start: Start,
  members: Members,
  restarter: ServerRestarter,
) {
  const names = topology.POSTGRES_MEMBERS;
  const ports = await portsFor(names);
  const urlOf = (name: string): string =>
    `postgres://postgres:${encodeURIComponent(secrets.postgresPassword)}@127.0.0.1:${ports[name]}/postgres`;
  const primary = topology.readRecord(stateDirectory)?.primary ?? names[0];
  const urls = Object.fromEntries(names.map((name) => [name, urlOf(name)]));
  topology.writeRecord(stateDirectory, { primary, urls });
  const leader = (): string => topology.readRecord(stateDirectory)?.primary ?? primary;
  /** Those whose last start was that of a primary. */
  const primaries = new Set<string>();
  const startOne = (name: string): Promise<void> =>
    start(name, 'postgres', {
      ports: { postgres: ports[name] ?? 0 },
      postgres: {
        superuserPassword: secrets.postgresPassword,
        settings: [
          'wal_keep_size=512MB',
          `wal_sender_timeout=${SILENT_SECONDS}s`,
          `wal_receiver_timeout=${SILENT_SECONDS}s`,
          'wal_receiver_status_interval=1s',
          'wal_retrieve_retry_interval=200ms',
        ],
        follows: async () => {
          if (leader() === name) {
            primaries.add(name);
            return null;
          }
          primaries.delete(name);
          await isPrimary(() => urlOf(leader()));
          return { url: urlOf(leader()), name };
        },
      },
    });
  await startOne(primary);
  await Promise.all(names.filter((name) => name !== primary).map(startOne));
  await withServer(urlOf(primary), async (server) => {
    await server.query(`ALTER SYSTEM SET synchronous_standby_names = '${topology.SYNCHRONOUS}'`);
    await server.query('SELECT pg_reload_conf()');
  });
  // One that was on its way up when another was promoted could not be ended then.
  restarter.meanwhile(LEADER_LOOK_MS, async () => {
    const replaced = [...primaries].filter((name) => name !== leader());
    await Promise.all(replaced.flatMap((name) => members[name]?.restart?.({ kill: true }) ?? []));
  });
  const hosts = names.map((name) => `127.0.0.1:${ports[name]}`).join(',');
  const url = `${urlOf(primary).replace(/127\.0\.0\.1:\d+/, hosts)}?target_session_attrs=read-write`;
  return { url, leader: () => members[leader()] };
}

/** Resolves when the server is a primary: nobody follows one that is not. */
async function isPrimary(urlOf: () => string): Promise<void> {
  const untilMs = performance.now() + PRIMARY_WAIT_MS;
  for (;;) {
    const state = await withServer(urlOf(), readServerState).catch(() => null);
    if (state?.isStandby === false) return;
    if (performance.now() > untilMs) throw new Error('the server that this one is to follow is no primary');
    await pause(LOOK_MS);
  }
}

async function startNats(secrets: Secrets, start: Start): Promise<{ url: string }> {
  const names = topology.NATS_MEMBERS;
  const [ports, routes] = [await portsFor(names), await portsFor(names)];
  const credentials = { user: 'dashboard', password: secrets.busPasswords.dashboard };
  // Only these servers know it, and they start together.
  const password = randomBytes(24).toString('hex');
  const routeUrls = names.map((name) => `"nats-route://route:${password}@127.0.0.1:${routes[name]}"`);
  await Promise.all(
    names.map((name) =>
      start(name, 'nats', {
        ports: { nats: ports[name] ?? 0 },
        nats: {
          name,
          credentials,
          config: [
            natsAuthorization(secrets.busPasswords, MESSAGES),
            'cluster {',
            '  name: gateway',
            `  listen: "127.0.0.1:${routes[name]}"`,
            `  authorization { user: route, password: "${password}", timeout: 2 }`,
            `  routes: [${routeUrls.join(', ')}]`,
            '  no_advertise: true',
            '}',
          ].join('\n'),
        },
      }),
    ),
  );
  const hosts = names.map((name) => `127.0.0.1:${ports[name]}`).join(',');
  const url = `nats://${credentials.user}:${credentials.password}@${hosts}`;
  await streamsReady(
    changeUrl(url, (own) => Object.assign(own, { username: 'billing', password: secrets.busPasswords.billing })),
  );
  return { url };
}

/** The servers have found each other when a bucket can have a copy on each. */
async function streamsReady(url: string): Promise<void> {
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const bucketReplicas = topology.NATS_MEMBERS.length;
  const bus = await connectBus({ url, service: 'billing', replica: 'start', log, bucketReplicas });
  try {
    const untilMs = performance.now() + STREAMS_WAIT_MS;
    for (;;) {
      const failure = await bus
        .lookUpBucket(DATABASE_BUCKET)
        .get('timelines', ASK_MS)
        .then(() => null, String);
      if (failure === null) return;
      if (performance.now() > untilMs) throw new Error(`the NATS servers make no stream together: ${failure}`);
      await pause(LOOK_MS);
    }
  } finally {
    await bus.drain(DRAIN_MS);
  }
}

async function startRedis(
  stateDirectory: string,
  secrets: Secrets,
  start: Start,
  members: Members,
  restarter: ServerRestarter,
) {
  const [names, sentinels] = [topology.REDIS_MEMBERS, topology.SENTINEL_MEMBERS];
  const [ports, sentinelPorts] = [await portsFor(names), await portsFor(sentinels)];
  const firstPort = ports[names[0]] ?? 0;
  const users = [admissionUser(secrets.admissionRedisPassword)];
  const password = secrets.admissionRedisPassword;
  let leader: string = names[0];
  let isUp = false;
  const look = async (): Promise<void> => {
    const port = await primaryPort(Object.values(sentinelPorts), password);
    leader = names.find((name) => ports[name] === port) ?? leader;
  };
  const startOne = (name: string): Promise<void> =>
    start(name, 'redis', {
      ports: { redis: ports[name] ?? 0 },
      redis: {
        password: secrets.redisPassword,
        users,
        follows: async () => {
          if (!isUp) return name === names[0] ? null : firstPort;
          // A primary that ended comes back empty: the Sentinels are given time to promote another.
          const untilMs = performance.now() + REDIS_PRIMARY_WAIT_MS;
          for (;;) {
            const port = await primaryPort(Object.values(sentinelPorts), password).catch(() => null);
            if (port !== null && port !== ports[name]) return port;
            if (performance.now() > untilMs) return null;
            await pause(LOOK_MS);
          }
        },
      },
    });
  await startOne(names[0]);
  await startOne(names[1]);
  await Promise.all(
    sentinels.map((name) => {
      // What one knew in an earlier start leads to ports of that time.
      rmSync(`${stateDirectory}/servers/${name}`, { recursive: true, force: true });
      return start(name, 'redis', {
        ports: { redis: sentinelPorts[name] ?? 0 },
        redis: {
          password,
          sentinel: {
            name: topology.REDIS_NAME,
            port: firstPort,
            primaryPassword: secrets.redisPassword,
            quorum: topology.SENTINEL_QUORUM,
            downAfterMs: topology.REDIS_DOWN_AFTER_MS,
          },
        },
      });
    }),
  );
  isUp = true;
  restarter.meanwhile(LEADER_LOOK_MS, look);
  const hosts = sentinels.map((name) => `127.0.0.1:${sentinelPorts[name]}`).join(',');
  const url = `redis+sentinel://${hosts}/${topology.REDIS_NAME}?sentinel_password=${encodeURIComponent(password)}`;
  return { url, leader: () => members[leader] };
}

/** The port that most Sentinels name. @throws Error when no two name the same */
async function primaryPort(sentinels: readonly number[], password: string): Promise<number> {
  const asked = sentinels.map((port) => askSentinel(port, password, topology.REDIS_NAME).catch(() => null));
  const named = (await Promise.all(asked)).filter((port) => port !== null);
  const most = named.find((port) => named.filter((one) => one === port).length >= topology.SENTINEL_QUORUM);
  if (most === undefined) throw new Error('the Sentinels name no primary together');
  return most;
}

async function portsFor(names: readonly string[]): Promise<Record<string, number>> {
  const ports: Record<string, number> = {};
  for (const name of names) ports[name] = await freePort();
  return ports;
}

function aliveOf(members: Members, names: readonly string[]): RunningServer | undefined {
  const all = names.map((name) => members[name]);
  return all.find((server) => server?.pid !== null) ?? all[0];
}

/** The server that leads, whichever that is when it is asked; `stop` ends all of its kind. */
function leaderOf(members: Members, names: readonly string[], leader: () => RunningServer | undefined): RunningServer {
  const first = members[names[0] ?? ''];
  if (first === undefined) throw new Error('no server of a kind has started');
  const now = (): RunningServer => leader() ?? first;
  return {
    name: first.name,
    resolver: first.resolver,
    version: first.version,
    source: first.source,
    get url() {
      return now().url;
    },
    get pid() {
      return now().pid;
    },
    restart: (how) => now().restart?.(how) ?? Promise.resolve(),
    async stop() {
      await Promise.all(names.flatMap((name) => members[name]?.stop() ?? []));
    },
  };
}
