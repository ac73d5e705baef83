import { afterEach, expect, jest, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { BUCKETS_TOTAL } from '@gateway/contracts/ids';
import { type RecordingLog, type TestServer, recordingLog, startTestRedis, until } from '@gateway/testkit';
import { startTestCluster } from '../../test/model/test-cluster.js';
import { buildApplyCall } from '../apply/apply-script.js';
import { type ReplicaRun, makeEpoch, parseEpochRun, parseEpochTime } from './epoch-rules.js';
import { buildHeldCall } from '../read/read-script.js';
import { findBucketKeys, formatReferenceKey } from './key-rules.js';
import { buildSweepCall } from '../sweep/sweep-script.js';
import { buildRestoreCall } from './epoch-script.js';
import { AdmissionFault } from '../ports.js';
import { RedisClock } from './redis-clock.js';
import { RedisLimitStore, SILENCE_MAX_MS } from './redis-limit-store.js';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function startRedis(): Promise<{ server: TestServer['server']; redis: Redis }> {
  // Tests set its memory policy, stop it and cut its connections.
  const own = await startTestRedis({ own: true });
  cleanUps.push(() => own.stop());
  const redis = new Redis(own.server.url);
  redis.on('error', () => undefined);
  cleanUps.push(() => redis.disconnect());
  return { server: own.server, redis };
}

function openLimitStore(url: string, clock = new RedisClock()): { limitStore: RedisLimitStore; log: RecordingLog } {
  const log = recordingLog();
  const limitStore = new RedisLimitStore(url, clock, log);
  cleanUps.push(() => limitStore.close());
  limitStore.open();
  return { limitStore, log };
}

const said = (log: RecordingLog): string =>
  log.lines.map(({ facts, text }) => `${text} ${String((facts as { err?: unknown }).err ?? '')}`).join('\n');

const sweepOf = (limitStore: RedisLimitStore, bucket = 0) => {
  return limitStore.run([buildSweepCall(findBucketKeys(bucket), 0, 0)]);
};

/** Starts the restore of the first bucket and returns its epoch. */
async function restoreFirst(limitStore: RedisLimitStore): Promise<string> {
  const [reply] = await limitStore.run([buildRestoreCall(0, limitStore.newEpoch())]);
  return (reply as string[])[2] ?? '';
}

async function replicaOf(primary: TestServer['server'], redis: Redis): Promise<void> {
  await redis.replicaof('127.0.0.1', Number(new URL(primary.url).port));
}

test('a server that evicts is refused until its policy is set', async () => {
  const { server, redis } = await startRedis();
  await redis.config('SET', 'maxmemory-policy', 'volatile-lru');
  const { limitStore, log } = openLimitStore(server.url);
  await until('it is refused', () => limitStore.problem() !== null);
  expect(limitStore.problem()).toMatch(/maxmemory-policy of Redis is volatile-lru.*set it to noeviction/);
  expect(said(log)).toContain('set it to noeviction');
  expect(limitStore.usable()).toBe(false);
  await redis.config('SET', 'maxmemory-policy', 'noeviction');
  await until('it is in use', () => limitStore.usable());
  expect(limitStore.problem()).toBeNull();
});

test('a change of the eviction policy ends the use of a server', async () => {
  const { server, redis } = await startRedis();
  const { limitStore } = openLimitStore(server.url);
  await until('it is in use', () => limitStore.usable());
  await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
  await limitStore.memory();
  await until('it is refused', () => limitStore.problem() !== null);
  expect(limitStore.usable()).toBe(false);
});

test('a replica is refused until it is promoted', async () => {
  const [primary, copy] = [await startRedis(), await startRedis()];
  await replicaOf(primary.server, copy.redis);
  const { limitStore } = openLimitStore(copy.server.url);
  await until('it is refused', () => limitStore.problem() !== null);
  expect(limitStore.problem()).toMatch(/leads to a replica: give the address/);
  await copy.redis.replicaof('NO', 'ONE');
  await until('it is in use', () => limitStore.usable());
});

test('a demoted primary is dropped at the first error and used again later', async () => {
  const [primary, other] = [await startRedis(), await startRedis()];
  const { limitStore, log } = openLimitStore(primary.server.url);
  await until('it is in use', () => limitStore.usable());
  expect((await sweepOf(limitStore))[0]).not.toBeInstanceOf(AdmissionFault);
  await replicaOf(other.server, primary.redis);
  const [reply] = await sweepOf(limitStore);
  expect(reply).toBeInstanceOf(AdmissionFault);
  expect(String(reply)).toContain('READONLY');
  expect(limitStore.usable()).toBe(false);
  // Redis refused to run the script, so nothing was taken.
  expect((reply as AdmissionFault).mayHold).toBe(false);
  await until('the handshake says why', () => said(log).includes('leads to a replica'));
  await primary.redis.replicaof('NO', 'ONE');
  await until('it is in use again', () => limitStore.usable());
  expect((await sweepOf(limitStore))[0]).not.toBeInstanceOf(AdmissionFault);
});

test('a failed write of a key reference to a replica ends the connection', async () => {
  const [primary, other] = [await startRedis(), await startRedis()];
  const { limitStore } = openLimitStore(primary.server.url);
  await until('it is in use', () => limitStore.usable());
  await replicaOf(other.server, primary.redis);
  await expect(limitStore.setRoute('0'.repeat(64), 'account|key')).rejects.toThrow('READONLY');
  expect(limitStore.usable()).toBe(false);
});

test('a cluster node is refused with a remedy', async () => {
  const cluster = await startTestCluster();
  cleanUps.push(() => cluster.stop());
  const { limitStore, log } = openLimitStore(`redis://127.0.0.1:${cluster.ports[0]}`);
  await until('it is refused', () => limitStore.problem() !== null);
  expect(limitStore.problem()).toMatch(/Redis cluster, which is not supported: give one server without cluster mode/);
  await until('the log says so', () => said(log).includes('not supported'));
  expect(limitStore.usable()).toBe(false);
});

test('a script of a killed server may have run', async () => {
  const { server } = await startRedis();
  const { limitStore } = openLimitStore(server.url);
  await until('it is in use', () => limitStore.usable());
  process.kill(server.pid!, 'SIGSTOP');
  const asked = sweepOf(limitStore);
  process.kill(server.pid!, 'SIGKILL');
  const [reply] = await asked;
  expect(reply).toBeInstanceOf(AdmissionFault);
  expect((reply as AdmissionFault).mayHold).toBe(true);
});

test('an unanswered call of a killed server does not end the next connection', async () => {
  jest.useFakeTimers({ advanceTimers: true, doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'] });
  cleanUps.push(() => jest.useRealTimers());
  const { server } = await startRedis();
  const { limitStore, log } = openLimitStore(server.url);
  await until('it is in use', () => limitStore.usable());
  process.kill(server.pid!, 'SIGSTOP');
  const asked = sweepOf(limitStore);
  process.kill(server.pid!, 'SIGKILL');
  await asked;
  await server.restart?.({ kill: true });
  await until('the next one is in use', () => limitStore.usable());
  expect((await sweepOf(limitStore))[0]).not.toBeInstanceOf(AdmissionFault);
  jest.advanceTimersByTime(SILENCE_MAX_MS);
  expect((await sweepOf(limitStore))[0]).not.toBeInstanceOf(AdmissionFault);
  expect(log.lines.filter(({ text }) => text === 'redis connection lost')).toHaveLength(1);
});

// Covers r12; Redis has two primaries after a failover
test('a superseded server is dropped and not used again with its old epochs', async () => {
  const { server, redis } = await startRedis();
  const { limitStore, log } = openLimitStore(server.url);
  await until('it is in use', () => limitStore.usable());
  const { epoch } = findBucketKeys(0);
  const setAt = parseEpochTime(await restoreFirst(limitStore));
  const other = 'f'.repeat(40);
  limitStore.observe([makeEpoch(other, setAt - 1, '00')]);
  expect(limitStore.usable()).toBe(true);
  limitStore.observe([makeEpoch(other, setAt + 60_000, '00')]);
  await expect(sweepOf(limitStore)).rejects.toBeInstanceOf(AdmissionFault);
  await until('it is refused', () => said(log).includes('redis handshake failed'));
  expect(said(log)).toContain('another Redis server has replaced this one');
  expect(limitStore.usable()).toBe(false);
  // The server is promoted again, after the other one. Its data is lost, and its next epochs are
  // later.
  await redis.set(epoch, `${makeEpoch(other, setAt + 60_000, '00')} open 0 1`);
  await until('it is in use', () => limitStore.usable());
  expect(parseEpochTime(limitStore.newEpoch())).toBeGreaterThan(setAt + 60_000);
});

// Covers r12
test('a server that started empty is dropped at the first change', async () => {
  const { server, redis } = await startRedis();
  const { limitStore } = openLimitStore(server.url);
  await until('it is in use', () => limitStore.usable());
  const id = parseEpochRun(limitStore.newEpoch());
  limitStore.observe([makeEpoch('f'.repeat(40), 2_000, '00')]);
  const apply = () => {
    const change = { account: 'acc_any', record: { account: 'acc_any', state: 'active' as const, version: 1 } };
    return limitStore.run([buildApplyCall(findBucketKeys(0), change, null)]);
  };
  const read = () => limitStore.run([buildHeldCall(findBucketKeys(0), 'acc_any')]);
  expect(await apply()).toMatchObject([{ 0: 'lost' }]);
  expect(limitStore.usable()).toBe(true);
  // Another replica has set this epoch and left without notifying this one.
  await redis.set(findBucketKeys(0).epoch, `${makeEpoch(id, 1_000, '00')} open 0 1`);
  // The calls are sent together. The first answer closes the connection.
  const [held, first, second] = await Promise.allSettled([read(), apply(), apply()]);
  expect(held).toMatchObject({ status: 'fulfilled', value: [{ 0: 'open' }] });
  for (const one of [first, second])
    expect(one).toMatchObject({ status: 'rejected', reason: { code: 'admission_error' } });
  expect(limitStore.usable()).toBe(false);
});

// Covers r12; Redis has two primaries after a failover
test('a superseded server is used with new epochs if no other is used', async () => {
  const { server, redis } = await startRedis();
  let [now, later] = [0, 0];
  let [someoneUsesAnother, busIsThere] = [true, true];
  const told: ReplicaRun[] = [];
  const clock = new RedisClock();
  clock.monotonic = () => (now += 300);
  const { limitStore } = openLimitStore(server.url, clock);
  const other = 'f'.repeat(40);
  limitStore.setOthers({
    publish: (run) => void told.push(run),
    areReachable: async () => {
      if (someoneUsesAnother) setImmediate(() => limitStore.observeRun({ id: other, setAt: later, isUsed: true }));
      return busIsThere;
    },
  });
  await until('it is in use', () => limitStore.usable());
  const epoch = await restoreFirst(limitStore);
  later = parseEpochTime(epoch) + 60_000;
  limitStore.observe([makeEpoch(other, later, '00')]);
  await until('others were asked for long enough', () => told.length > 10);
  expect(limitStore.problem()).toBe('another Redis server has replaced this one');
  expect(limitStore.usable()).toBe(false);
  expect(told.at(-1)).toEqual({ id: parseEpochRun(epoch), setAt: parseEpochTime(epoch), isUsed: false });
  [someoneUsesAnother, busIsThere] = [false, false];
  const toldBefore = told.length;
  await until('nobody could be asked for long enough', () => told.length > toldBefore + 10);
  expect(limitStore.usable()).toBe(false);
  busIsThere = true;
  await until('it is in use again', () => limitStore.usable());
  const keys = Array.from({ length: BUCKETS_TOTAL }, (_unused, bucket) => findBucketKeys(bucket).epoch);
  const epochs = (await redis.mget(keys)).map((text) => text?.split(' ') ?? []);
  expect(epochs.filter(([epoch = '', state]) => parseEpochTime(epoch) <= later || state !== 'restoring')).toEqual([]);
  limitStore.observe([makeEpoch(other, later, '00')]);
  expect(limitStore.usable()).toBe(true);
  // An epoch of an unknown run means another server.
  limitStore.observe([makeEpoch(other, later + 60_000, '00')]);
  expect(limitStore.usable()).toBe(false);
});

// Covers r12
test('the order of a run follows its newest epoch in any bucket', async () => {
  const { server, redis } = await startRedis();
  const { limitStore } = openLimitStore(server.url);
  await until('it is in use', () => limitStore.usable());
  const first = await restoreFirst(limitStore);
  const [id, setAt] = [parseEpochRun(first), parseEpochTime(first)];
  await redis.set(findBucketKeys(200).epoch, `${makeEpoch(id, setAt + 60_000, '00')} open 0 1`);
  limitStore.observe([makeEpoch('f'.repeat(40), setAt + 30_000, '00')]);
  expect(limitStore.usable()).toBe(false);
  await until('it is in use again', () => limitStore.usable());
});

// Covers r12
test('a handshake has no effect after the end of its connection', async () => {
  const { server, redis } = await startRedis();
  const waiting: ((isHeard: boolean) => void)[] = [];
  let [now, asked] = [0, 0];
  const clock = new RedisClock();
  clock.monotonic = () => now;
  const { limitStore } = openLimitStore(server.url, clock);
  await until('it is in use', () => limitStore.usable());
  const epoch = await restoreFirst(limitStore);
  limitStore.setOthers({
    publish: () => undefined,
    areReachable: () => {
      asked += 1;
      if (asked === 1) return Promise.resolve(true);
      now = 2_500;
      return new Promise((resolve) => waiting.push(resolve));
    },
  });
  limitStore.observe([makeEpoch('f'.repeat(40), parseEpochTime(epoch) + 60_000, '00')]);
  await until('a handshake waits, and could begin anew', () => waiting.length > 0);
  await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await until('the next one waits', () => waiting.length > 1);
  waiting[0]?.(true);
  await new Promise((resolve) => setImmediate(resolve));
  await expect(redis.get(findBucketKeys(0).epoch)).resolves.toMatch(epoch);
  expect(limitStore.usable()).toBe(false);
  waiting[1]?.(true);
  await until('it is in use again', () => limitStore.usable());
});

test('only a replica with an older run is notified of the used run', async () => {
  const { server } = await startRedis();
  const told: ReplicaRun[] = [];
  const { limitStore } = openLimitStore(server.url);
  limitStore.setOthers({ publish: (run) => void told.push(run), areReachable: async () => true });
  await until('it is in use', () => limitStore.usable());
  const epoch = await restoreFirst(limitStore);
  const [id, setAt] = [parseEpochRun(epoch), parseEpochTime(epoch)];
  const other = 'f'.repeat(40);
  limitStore.observeRun({ id, setAt: setAt - 1, isUsed: false });
  limitStore.observeRun({ id: other, setAt: setAt + 1, isUsed: false });
  expect(told).toEqual([]);
  limitStore.observeRun({ id: other, setAt: setAt - 1, isUsed: false });
  expect(told).toEqual([{ id, setAt, isUsed: true }]);
});

test('a request after a long sweep is answered before it by a second connection', async () => {
  const { server, redis } = await startRedis();
  const { limitStore } = openLimitStore(server.url);
  const isSwept = async (): Promise<boolean> => {
    await sweepOf(limitStore);
    return /name=gateway-admission-sweep .*cmd=evalsha/.test(String(await redis.client('LIST')));
  };
  await until('it is in use', () => limitStore.usable());
  await until('sweeps use their connection', isSwept);
  const sweep = buildSweepCall(findBucketKeys(0), 0, 0);
  // Reads the order from the slow log of Redis, because the order of the replies also depends on
  // this process.
  await redis.config('SET', 'slowlog-max-len', '100000');
  await redis.config('SET', 'slowlog-log-slower-than', '0');
  await Promise.all([limitStore.run(Array.from({ length: 20_000 }, () => sweep)), limitStore.routes(['0'.repeat(64)])]);
  await redis.config('SET', 'slowlog-log-slower-than', '-1');
  const newestFirst = (await redis.slowlog('GET', -1)) as [number, number, number, string[]][];
  const ran = newestFirst.map(([, , , [command = '', key = '']]) =>
    key === formatReferenceKey('0'.repeat(64)) ? 'route' : command,
  );
  expect(ran.indexOf('route')).toBeGreaterThan(ran.findIndex((command) => /^evalsha$/i.test(command)));
});

test('sweeps use the main connection while their own is down', async () => {
  const { server, redis } = await startRedis();
  const { limitStore } = openLimitStore(server.url);
  await until('it is in use', () => limitStore.usable());
  const idOfSweeps = async (): Promise<string | undefined> =>
    /id=(\d+) .*name=gateway-admission-sweep /.exec(String(await redis.client('LIST')))?.[1];
  const first = await until('sweeps have a connection', idOfSweeps);
  await redis.client('KILL', 'ID', first);
  const ways = await until('a sweep is run while theirs is away, and after it', async () => {
    const [reply] = await sweepOf(limitStore);
    const id = await idOfSweeps();
    return id !== undefined && id !== first && !(reply instanceof AdmissionFault);
  });
  expect(ways).toBe(true);
  expect(limitStore.usable()).toBe(true);
});
