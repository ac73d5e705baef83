import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  admitEntry,
  batch,
  heartbeatOf,
  makeAccount,
  makeWorld,
  mustAdmit,
  release,
  running,
} from '../../test/world.js';
import type { Replica, TestAccount, World } from '../../test/world.js';

const CALLS = 20;
const HOUR_MS = 3_600_000;
/** Commands that connections and this test send in addition to the scripts. */
const BESIDE = new Set(['info', 'config|resetstat', 'ping', 'time', 'client|setinfo', 'hello']);

let world: World;
let replica: Replica;
let redis: Redis;

beforeAll(async () => {
  // A new minute would cause additional commands.
  // It counts the commands of the whole server.
  world = await makeWorld({ frozenAt: Date.now(), own: true });
  replica = await world.replica({ durations: { sweepMs: HOUR_MS } });
  redis = new Redis(world.server.url);
});
afterAll(async () => {
  redis.disconnect();
  await world.stop();
});

const plentyOf = (accounts: number): TestAccount[] =>
  Array.from({ length: accounts }, () => makeAccount(world, { wallet: 1e15 }));

/** Counts the commands in Redis by name, including those within scripts. */
async function commandsOf(work: () => Promise<unknown>): Promise<Record<string, number>> {
  await redis.config('RESETSTAT');
  await work();
  const stats = await redis.info('commandstats');
  const counts = [...stats.matchAll(/cmdstat_(\S+?):calls=(\d+)/g)].map(([, name, calls]) => [name, Number(calls)]);
  return Object.fromEntries(counts.filter(([name]) => !BESIDE.has(String(name))));
}

async function callsOneByOne({ digest }: TestAccount): Promise<void> {
  for (let call = 0; call < CALLS; call += 1) {
    const admitted = await mustAdmit(replica, admitEntry(replica.clock, [digest]));
    await batch(replica, { releases: [release(admitted, 'ok', 5)] });
  }
}

test('a call runs as many commands next to many accounts and open calls as alone', async () => {
  const [account] = plentyOf(1) as [TestAccount];
  // Loads the account.
  await callsOneByOne(account);
  const alone = await commandsOf(() => callsOneByOne(account));
  expect(Object.values(alone).reduce((sum, calls) => sum + calls, 0)).toBeGreaterThan(CALLS * 4);

  for (const other of plentyOf(200)) await mustAdmit(replica, admitEntry(replica.clock, [other.digest]));
  const open = Array.from({ length: 200 }, () => admitEntry(replica.clock, [account.digest]));
  await batch(replica, { admits: open });
  expect((await replica.admission.readAccount(account.account)).slots).toBe(200);
  expect(await commandsOf(() => callsOneByOne(account))).toEqual(alone);
});

test('a heartbeat runs as many commands next to many other running calls', async () => {
  const [account] = plentyOf(1) as [TestAccount];
  const admits = Array.from({ length: CALLS }, () => admitEntry(replica.clock, [account.digest]));
  const { answers } = await batch(replica, { admits, edge: 'edge-counted' });
  const calls = [...answers.values()].map((answer) => running(answer as Parameters<typeof running>[0]));
  let n = 0;
  const sendHeartbeat = () => replica.admission.heartbeat(heartbeatOf(world, 'edge-counted', (n += 1), { calls }));
  await sendHeartbeat();
  const before = await commandsOf(sendHeartbeat);
  for (const other of plentyOf(100)) await mustAdmit(replica, admitEntry(replica.clock, [other.digest]));
  await batch(replica, { admits: Array.from({ length: 100 }, () => admitEntry(replica.clock, [account.digest])) });
  expect(await commandsOf(sendHeartbeat)).toEqual(before);
});
