import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { BUCKETS_TOTAL } from '@gateway/contracts/ids';
import { until } from '@gateway/testkit';
import {
  type Admitted,
  PRICE,
  type Replica,
  type World,
  admit,
  admitEntry,
  heartbeatOf,
  makeAccount,
  makeWorld,
  mustAdmit,
  release,
  running,
} from '../../test/world.js';
import { makeEpoch, parseEpochTime } from '../limit-store/epoch-rules.js';
import { RecordCache } from '../records/record-cache.js';
import { Recovery } from './recover-buckets.js';

let world: World;
let one: Replica;

beforeEach(async () => {
  // It kills and stops Redis.
  world = await makeWorld({ own: true });
  one = await world.replica();
});
afterEach(() => world.stop());

/** Deletes all data in Redis, like a restart without a file. */
async function loseLimitStore(): Promise<void> {
  await world.server.restart?.({ kill: true, emptyState: true });
  await until('the limit store is usable', () => one.limitStore.usable());
}

/** Sends heartbeats of an edge that has received the resync request, under the reported epochs. */
function reportBack(edge: string, n: number, calls: Admitted[]): void {
  heartbeatOf(world, edge, n, { calls: calls.map((call) => running(call)), epochs: [...(world.reports.at(-1) ?? [])] });
}

// Covers r12
test('nothing is admitted after a loss until every live edge has reported', async () => {
  const account = makeAccount(world, { wallet: 3 * PRICE });
  const calls = [
    await mustAdmit(one, admitEntry(one.clock, [account.digest])),
    await mustAdmit(one, admitEntry(one.clock, [account.digest])),
  ];
  heartbeatOf(world, 'edge-a', 1, { calls: [running(calls[0]!)] });
  heartbeatOf(world, 'edge-b', 1, {});
  await loseLimitStore();
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({
    kind: 'fault',
    code: 'admission_error',
  });
  await until('edges are asked to report', () => world.reports.length > 0);
  reportBack('edge-a', 2, [calls[0]!]);
  await until('edges are asked again', () => world.reports.length > 2);
  // The other edge has a call that no heartbeat named before the loss, and has not reported yet.
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({
    kind: 'fault',
    code: 'admission_error',
  });
  await until('a report names the bucket', () =>
    world.reports.at(-1)!.some(({ bucket }) => bucket === calls[0]!.bucket),
  );
  reportBack('edge-a', 3, [calls[0]!]);
  reportBack('edge-b', 2, [calls[1]!]);
  await until('all buckets are open', () => one.admission.bucketsPending() === 0);
  const dump = await one.admission.readAccount(account.account);
  expect(dump).toMatchObject({ slots: 2, held: { wallet: 2 * PRICE } });
  expect((await mustAdmit(one, admitEntry(one.clock, [account.digest]))).epoch).not.toBe(calls[0]!.epoch);
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({
    code: 'insufficient_credits',
  });
  const asked = world.owners.asked.loadBalances.filter((question) => question.account === account.account);
  expect(asked.at(-1)).toMatchObject({ afterLoss: true });
});

// Covers r12
test('the last heartbeat and unacknowledged releases of a dead edge count', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const ended = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const dead = { calls: [running(call)], releases: [release(ended, 'ok', 77)] };
  heartbeatOf(world, 'edge-dead', 9, dead, Date.now() - 60_000);
  heartbeatOf(world, 'edge-stopped', 1, { last: true });
  await loseLimitStore();
  await one.admission.sweep();
  await until('all buckets are open', () => one.admission.bucketsPending() === 0);
  const dump = await one.admission.readAccount(account.account);
  expect(dump).toMatchObject({ slots: 1, held: { wallet: PRICE + 77 } });
});

test('no call is restored for an edge that has been silent past the expiry', async () => {
  const account = makeAccount(world, { wallet: PRICE });
  const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  heartbeatOf(world, 'edge-gone', 9, { calls: [running(call)] }, Date.now() - 3_600_000);
  heartbeatOf(world, 'edge-stopped', 1, { last: true });
  await loseLimitStore();
  await one.admission.sweep();
  await until('all buckets are open', () => one.admission.bucketsPending() === 0);
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({ kind: 'admitted' });
});

test('a bucket from another server run gets a new epoch and loads missing data', async () => {
  const account = makeAccount(world, { wallet: 2 * PRICE });
  const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  // Simulates a promoted replica: only the latest data is missing, and the epoch names another run.
  account.state.rows.set('wallet', { value: 5 * PRICE, version: 2 });
  const epoch = `${'0'.repeat(40)}.stale`;
  const { Redis } = await import('ioredis');
  const redis = new Redis(world.server.url);
  await redis.set(`{${call.bucket}}epoch`, `${epoch} open 1 1`);
  await redis.quit();
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({ kind: 'fault' });
  await until('all buckets are open', () => one.admission.bucketsPending() === 0);
  const next = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  expect(next.epoch).not.toBe(call.epoch);
  const dump = await one.admission.readAccount(account.account);
  expect(dump).toMatchObject({
    slots: 2,
    held: { wallet: 2 * PRICE },
    rows: { wallet: { value: 5 * PRICE, version: 2 } },
  });
});

// Covers r12
test('a superseded Redis that no replica uses is restored under later epochs', async () => {
  const account = makeAccount(world, { wallet: 2 * PRICE });
  const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const later = parseEpochTime(call.epoch) + 60_000;
  one.limitStore.setOthers({ publish: () => one.pass(300), areReachable: async () => true });
  one.limitStore.onUse(() => one.admission.redisInUse());
  heartbeatOf(world, 'edge-dead', 9, { calls: [running(call)] }, Date.now() - 60_000);
  one.limitStore.observe([makeEpoch('f'.repeat(40), later, '00')]);
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({ kind: 'fault' });
  await until('it is in use again', () => one.limitStore.usable());
  await one.admission.sweep();
  await until('all buckets are open', () => one.admission.bucketsPending() === 0);
  const { Redis } = await import('ioredis');
  const redis = new Redis(world.server.url);
  const epochs = await redis.mget(Array.from({ length: BUCKETS_TOTAL }, (_unused, bucket) => `{${bucket}}epoch`));
  await redis.quit();
  expect(epochs.filter((epoch) => parseEpochTime((epoch ?? '').split(' ')[0] ?? '') <= later)).toEqual([]);
  expect(parseEpochTime((await mustAdmit(one, admitEntry(one.clock, [account.digest]))).epoch)).toBeGreaterThan(later);
  expect(await one.admission.readAccount(account.account)).toMatchObject({ slots: 2, held: { wallet: 2 * PRICE } });
});

// Covers Redis is gone, emptied or failed over
test('calls get immediate faults while Redis is away and correct answers later', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const restart = world.server.restart?.({ kill: true });
  await until('the limit store is gone', () => !one.limitStore.usable());
  const startedAt = performance.now();
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({
    kind: 'fault',
    code: 'admission_error',
  });
  // An entry may take 60 s in this test.
  expect(performance.now() - startedAt).toBeLessThan(10_000);
  await restart;
  await until('the limit store is usable', () => one.limitStore.usable());
  await one.admission.sweep();
  await until('all buckets are open', () => one.admission.bucketsPending() === 0);
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({ kind: 'admitted' });
});

test('calls get faults in time while Redis hangs and correct answers later', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const pid = world.server.pid!;
  process.kill(pid, 'SIGSTOP');
  try {
    const hung = await admit(one, admitEntry(one.clock, [account.digest]));
    expect(hung).toMatchObject({ kind: 'fault', code: 'admission_error' });
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await until(
    'requests are admitted again',
    async () => (await admit(one, admitEntry(one.clock, [account.digest]))).kind === 'admitted',
  );
});

test('each epoch of a bucket is later than the previous one despite a slow clock', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const { Redis } = await import('ioredis');
  const redis = new Redis(world.server.url);
  try {
    const { bucket, epoch } = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
    const ahead = epoch.replace(/\.\d+\./, `.${Date.now() + 60_000}.`);
    await redis.set(`{${bucket}}epoch`, `${ahead} open 1 1`);
    await one.admission.sweep();
    await redis.del(`{${bucket}}epoch`);
    await one.admission.sweep();
    await until('all buckets are open', () => one.admission.bucketsPending() === 0);
    const next = (await mustAdmit(one, admitEntry(one.clock, [account.digest]))).epoch;
    expect(parseEpochTime(next)).toBe(parseEpochTime(ahead) + 1);
    expect(Math.abs(parseEpochTime(epoch) - Date.now())).toBeLessThan(60_000);
  } finally {
    await redis.quit();
  }
});

test.each([0, 1, 2, 3, 4, 6])(
  'a bucket that is noticed %d ticks after the last one opened is restored',
  async (ticks) => {
    const { Redis } = await import('ioredis');
    const redis = new Redis(world.server.url);
    await redis.del('{5}epoch', '{6}epoch');
    let later = async (): Promise<void> => {
      for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve();
      recovery.notice(6);
    };
    const info = (_facts: object, text: string): void => {
      if (text !== 'all buckets are open') return;
      void later();
      later = async () => undefined;
    };
    const recovery = new Recovery({ ...one.ports, log: { ...one.ports.log, info } }, new RecordCache());
    recovery.notice(5);
    await until('both are done with', () => recovery.pending() === 0);
    for (const bucket of [5, 6]) expect(await redis.get(`{${bucket}}epoch`)).toMatch(' open ');
    await recovery.stop();
    await redis.quit();
  },
);

test('one replica restores and another one continues if it falls silent', async () => {
  const { Redis } = await import('ioredis');
  const redis = new Redis(world.server.url);
  heartbeatOf(world, 'edge-a', 1);
  await redis.del('{5}epoch', '{0}restorer');
  const did = new Map<string, { reports: number; reads: number }>();
  const recoveryAs = (replica: string): Recovery => {
    const own = { reports: 0, reads: 0 };
    did.set(replica, own);
    const { edges } = one.ports;
    const counted: typeof edges = {
      ...edges,
      report: (epochs) => {
        own.reports += 1;
        edges.report(epochs);
      },
      lastHeartbeats: (edge) => {
        own.reads += 1;
        return edges.lastHeartbeats(edge);
      },
    };
    return new Recovery({ ...one.ports, replica, edges: counted }, new RecordCache());
  };
  const recoveries = new Map(['a', 'b', 'c'].map((replica) => [replica, recoveryAs(replica)]));
  for (const recovery of recoveries.values()) recovery.notice(5);
  await until('edges are asked again', () => [...did.values()].some(({ reports }) => reports > 2));
  const [[restorer] = ['none']] = [...did].filter(([, { reports }]) => reports > 0);
  expect([...did].filter(([, { reports, reads }]) => reports + reads > 0)).toEqual([
    [restorer, { reports: expect.any(Number), reads: 1 }],
  ]);
  await recoveries.get(restorer)!.stop();
  await until('another one asks', () => [...did].some(([replica, { reports }]) => replica !== restorer && reports > 0));
  reportBack('edge-a', 2, []);
  const others = [...recoveries].filter(([replica]) => replica !== restorer);
  await until('they are done', () => others.every(([, recovery]) => recovery.pending() === 0));
  expect(await redis.get('{5}epoch')).toMatch(' open ');
  for (const recovery of recoveries.values()) await recovery.stop();
  await redis.quit();
});
