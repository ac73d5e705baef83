import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startServers, type RunningServer } from '@gateway/servers';
import { recordingLog, temporaryDirectory, until } from '@gateway/testkit';
import { Redis } from 'ioredis';
import { parseRedisAddress } from './redis-address.js';
import { RedisClock } from './redis-clock.js';
import { RedisLimitStore } from './redis-limit-store.js';

const PASSWORD = 'a password for tests';
const NAME = 'gateway';
const SENTINELS = 3;
const QUORUM = 2;
/** Longer than a busy machine pauses. */
const DOWN_AFTER_MS = 5_000;
const FAILOVER_WITHIN_MS = 30_000;

const directory = temporaryDirectory('sentinels');
const running: RunningServer[] = [];
const stores: RedisLimitStore[] = [];
let [primary, replica]: RunningServer[] = [];
let url: string;

async function start(name: string, redis: NonNullable<Parameters<typeof startServers>[1]['redis']>) {
  const stateDirectory = `${directory.path}/${name}`;
  const started = await startServers(['redis'], { stateDirectory, redis: { password: PASSWORD, ...redis } });
  running.push(started.redis);
  return started.redis;
}
const portOf = (server: RunningServer | undefined): number => Number(new URL(server?.url ?? '').port);

beforeAll(async () => {
  primary = await start('primary', {});
  const port = portOf(primary);
  replica = await start('replica', { follows: () => Promise.resolve(port) });
  const sentinel = { name: NAME, port, primaryPassword: PASSWORD, quorum: QUORUM, downAfterMs: DOWN_AFTER_MS };
  const names = Array.from({ length: SENTINELS }, (_unused, index) => `sentinel-${index}`);
  const sentinels = await Promise.all(names.map((name) => start(name, { sentinel })));
  const hosts = sentinels.map((each) => `127.0.0.1:${portOf(each)}`).join(',');
  url = `redis+sentinel://:${encodeURIComponent(PASSWORD)}@${hosts}/${NAME}?sentinel_password=${encodeURIComponent(PASSWORD)}`;
  // Each Sentinel knows the replica and the two other Sentinels.
  await until(
    'the Sentinels know each other',
    async () => (await Promise.all(sentinels.map(knowsAll))).every(Boolean),
    20_000,
  );
}, 120_000);

afterAll(async () => {
  for (const store of stores) store.close();
  await Promise.all(running.map((server) => server.stop()));
  directory.remove();
});

async function knowsAll(sentinel: RunningServer): Promise<boolean> {
  const client = new Redis(sentinel.url);
  const info = await client.info('sentinel').finally(() => client.disconnect());
  return info.includes(`slaves=1,sentinels=${SENTINELS}`);
}

function open(): { store: RedisLimitStore; log: ReturnType<typeof recordingLog> } {
  const log = recordingLog();
  const store = new RedisLimitStore(url, new RedisClock(), log);
  stores.push(store);
  store.open();
  return { store, log };
}

test('a URL of Sentinels must name the primary', () => {
  expect(() => parseRedisAddress('redis+sentinel://a:1,b:2')).toThrow(/names no primary/);
});

test('a fixed address uses user, password, database and port of its URL', () => {
  const { options, moves } = parseRedisAddress('rediss://u:p%40@[::1]:7000/2');
  expect(options).toMatchObject({ host: '::1', port: 7000, username: 'u', password: 'p@', db: 2, tls: {} });
  expect(moves).toBe(false);
});

test('only the primary that most Sentinels name is used', async () => {
  const { store } = open();
  await until('it is in use', () => store.usable());
  const address = parseRedisAddress(url);
  const place = (server: RunningServer | undefined) => ({ remoteAddress: '127.0.0.1', remotePort: portOf(server) });
  expect(await address.problem(place(primary))).toBeNull();
  expect(await address.problem(place(replica))).toMatch(/only 0 of 3 Sentinels/);
  address.close();
});

test('a primary that hangs is replaced in seconds and not used when it resumes', async () => {
  const { store, log } = open();
  await until('it is in use', () => store.usable());
  process.kill(primary?.pid ?? 0, 'SIGSTOP');
  const client = new Redis(replica?.url ?? '');
  await until('the replica is promoted', async () => (await client.role())[0] === 'master', FAILOVER_WITHIN_MS);
  const [, runId] = /run_id:(\w+)/.exec(await client.info('server')) ?? [];
  client.disconnect();
  process.kill(primary?.pid ?? 0, 'SIGCONT');
  await until('the other one is in use', () => {
    const last = log.lines.findLast(({ text }) => text === 'redis is in use');
    return store.usable() && (last?.facts as { runId?: string } | undefined)?.runId === runId;
  });
  await expect(store.memory()).resolves.toMatchObject({ maxBytes: 1024 ** 3 });
});

test('a primary is not used when most Sentinels are gone', async () => {
  const { store } = open();
  await until('it is in use', () => store.usable());
  await Promise.all(running.slice(-QUORUM).map((server) => server.stop()));
  await until('it is given up', () => store.problem()?.includes('too few Sentinels run') === true, 20_000);
  expect(store.usable()).toBe(false);
});
