import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { keyMonthRow, monthOf } from '@gateway/metering';
import { until } from '@gateway/testkit';
import { testEpoch } from '@gateway/testkit/random';
import {
  type Admitted,
  PRICE,
  type Replica,
  type TestAccount,
  type World,
  admit,
  admitEntry,
  batch,
  heartbeatOf,
  makeAccount,
  makeWorld,
  mustAdmit,
  release,
  running,
} from '../../test/world.js';
import { listRunningCalls } from '../heartbeats/last-heartbeats-rules.js';
import { extendHolds } from '../heartbeats/extend-holds.js';

let world: World;
let redis: Redis;

beforeEach(async () => {
  // It kills Redis.
  world = await makeWorld({ own: true });
  redis = new Redis(world.server.url, { lazyConnect: true });
  redis.on('error', () => undefined);
});
afterEach(async () => {
  redis.disconnect();
  await world.stop();
});

const admitMany = async (replica: Replica, account: TestAccount, count: number): Promise<Admitted[]> => {
  const calls: Admitted[] = [];
  for (let made = 0; made < count; made += 1) {
    calls.push(await mustAdmit(replica, admitEntry(replica.clock, [account.digest])));
  }
  return calls;
};

/**
 * Sends the heartbeats of the live edges after a resync request: all calls, under the reported
 * epochs.
 */
function reportAll(edges: Readonly<Record<string, readonly Admitted[]>>): void {
  const epochs = [...(world.reports.at(-1) ?? [])];
  for (const [edge, calls] of Object.entries(edges)) {
    const n = (world.kept.get(`${edge}.0`)?.heartbeat.n ?? 0) + 1;
    heartbeatOf(world, edge, n, { calls: calls.map((call) => running(call)), epochs });
  }
}

/** Waits until no bucket is pending at these replicas. The edges answer each resync request. */
async function recovered(replicas: readonly Replica[], edges: Readonly<Record<string, readonly Admitted[]>>) {
  await until('all buckets are open', async () => {
    for (const { admission } of replicas) await admission.sweep().catch(() => undefined);
    reportAll(edges);
    return replicas.every(({ limitStore, admission }) => limitStore.usable() && admission.bucketsPending() === 0);
  });
}

const LOSSES: Readonly<Record<string, () => Promise<unknown>>> = {
  'is flushed': () => redis.flushall(),
  'is killed and restarts empty': () => world.server.restart!({ kill: true, emptyState: true }),
  'is killed and restarts from an old file': async () => {
    await redis.save();
    await world.server.restart!({ kill: true });
  },
};

// Covers Redis is gone, emptied or failed over
test.each(Object.keys(LOSSES))('a wallet that running calls hold is not spent twice after Redis %s', async (loss) => {
  const one = await world.replica();
  const two = await world.replica();
  const account = makeAccount(world, { wallet: 6 * PRICE });
  const calls = await admitMany(one, account, 6);
  expect(await admit(two, admitEntry(two.clock, [account.digest]))).toMatchObject({
    code: 'insufficient_credits',
  });
  const edges = { live: calls.slice(0, 2), other: calls.slice(2, 4) };
  // One edge is dead. Another one lives and is silent until its heartbeat is too old to wait for
  // it.
  heartbeatOf(world, 'dead', 7, { calls: [running(calls[4]!)] }, Date.now() - 60_000);
  heartbeatOf(world, 'silent', 3, { calls: [running(calls[5]!)] }, Date.now() - 9_000);
  reportAll(edges);
  await LOSSES[loss]!();
  await recovered([one, two], edges);
  for (const replica of [one, two]) {
    expect(await admit(replica, admitEntry(replica.clock, [account.digest]))).toMatchObject({
      code: 'insufficient_credits',
      facts: { available: 0, held: 6 * PRICE },
    });
  }
  expect(await one.admission.readAccount(account.account)).toMatchObject({ slots: 6, held: { wallet: 6 * PRICE } });
  // A restored hold is released once, regardless of the call epoch of its release.
  await batch(two, { releases: calls.map((call) => release(call, 'void')) });
  await batch(one, { releases: calls.map((call) => release(call, 'void')) });
  expect(await one.admission.readAccount(account.account)).toMatchObject({ slots: 0, held: {} });
});

test('a recovery without resync requests would spend the wallet twice', async () => {
  const naive = await world.replica({ ignoresHeartbeats: true });
  const account = makeAccount(world, { wallet: 6 * PRICE });
  const calls = await admitMany(naive, account, 6);
  reportAll({ live: calls });
  await redis.flushall();
  await naive.admission.sweep();
  await until('all buckets are open', () => naive.admission.bucketsPending() === 0);
  expect(await admitMany(naive, account, 6)).toHaveLength(6);
});

// Covers r12
test('the recovery waits twelve seconds for an edge that misses resync requests', async () => {
  const one = await world.replica();
  const account = makeAccount(world, { wallet: 2 * PRICE });
  const [call] = await admitMany(one, account, 1);
  const deafHeartbeat = (n: number) => heartbeatOf(world, 'deaf', n, { calls: [running(call!)], epochs: [] });
  deafHeartbeat(1);
  await redis.flushall();
  await one.admission.sweep();
  const asked = world.reports.length;
  await until('it was asked three times', () => world.reports.length > asked + 2 && deafHeartbeat(2));
  expect(one.admission.bucketsPending()).toBe(256);
  one.pass(12_001);
  await until('all buckets are open', () => one.admission.bucketsPending() === 0);
  expect(await one.admission.readAccount(account.account)).toMatchObject({ slots: 1, held: { wallet: PRICE } });
});

test('a restart from an old file does not restore old balances or caps', async () => {
  const one = await world.replica();
  const month = monthOf(one.clock.now());
  const account = makeAccount(world, { wallet: 100 * PRICE, key: { capNanoUsd: 5 * PRICE } });
  const keyMonth = keyMonthRow(account.key, month);
  const snapshot = async (spent: number, version: number, closed: string[]) => {
    account.state.rows.set('wallet', { value: 100 * PRICE - spent, version });
    account.state.rows.set(keyMonth, { value: spent, version });
    const rows = ['wallet', keyMonth].map((name) => ({ name, ...account.state.rows.get(name)! }));
    await one.admission.applySnapshots({
      ledgerEpoch: testEpoch(1),
      accounts: [{ account: account.account, rows, closed }],
    });
  };
  const [first, second] = await admitMany(one, account, 2);
  await snapshot(PRICE, 2, [first!.id]);
  await redis.save();
  await batch(one, { releases: [release(second!, 'ok', 4 * PRICE)] });
  await snapshot(5 * PRICE, 3, [second!.id]);
  account.state.records.add(second!.id);
  await world.server.restart!({ kill: true });
  await recovered([one], {});
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({
    code: 'monthly_spend_cap_exceeded',
    facts: { limit: 5 * PRICE, used: 5 * PRICE },
  });
  // The hold that the file restored is queried when it is due, and closed.
  world.advance(121_000);
  await one.admission.sweep();
  expect(await one.admission.readAccount(account.account)).toMatchObject({ slots: 0, held: {} });
});

test('a snapshot before the load of a restored account removes its old balances', async () => {
  const one = await world.replica();
  const month = monthOf(one.clock.now());
  const account = makeAccount(world, { wallet: 100 * PRICE, key: { capNanoUsd: 5 * PRICE } });
  const keyMonth = keyMonthRow(account.key, month);
  await admitMany(one, account, 1);
  const [{ bucket } = { bucket: 0 }] = await admitMany(one, account, 1);
  // Changed data is not confirmed.
  account.state.rows.set(keyMonth, { value: 5 * PRICE, version: 3 });
  await redis.del(`{${bucket}}epoch`);
  await recovered([one], {});
  const wallet = { name: 'wallet', value: 95 * PRICE, version: 3 };
  await one.admission.applySnapshots({
    ledgerEpoch: testEpoch(1),
    accounts: [{ account: account.account, rows: [wallet], closed: [] }],
  });
  expect((await one.admission.readAccount(account.account)).rows).toEqual({
    wallet: { value: 95 * PRICE, version: 3 },
  });
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({
    code: 'monthly_spend_cap_exceeded',
  });
});

test('the last heartbeat restores a lapsed slot only while its bucket is restoring', async () => {
  const one = await world.replica();
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const [kept, ended] = await admitMany(one, account, 2);
  world.advance(11_000);
  await one.admission.sweep();
  expect((await one.admission.readAccount(account.account)).slots).toBe(0);
  await redis.del(`{${kept!.bucket}}epoch`);
  heartbeatOf(world, 'edge1', 1, { calls: [running(kept!)], last: true });
  await recovered([one], {});
  expect(await one.admission.readAccount(account.account)).toMatchObject({ slots: 1, held: { wallet: 2 * PRICE } });
  // A late replica runs the same recovery. The bucket is open, and calls have ended since.
  await batch(one, { releases: [release(kept!, 'void')] });
  world.advance(91_000);
  await one.admission.sweep();
  expect((await one.admission.readAccount(account.account)).holds.map(({ id }) => id)).toEqual([ended!.id]);
  const late = listRunningCalls({ calls: [running(kept!), running(ended!, { callEpoch: 'another.epoch' })] });
  expect(await extendHolds(one.ports, 'edge1', late, true)).toMatchObject({ failed: [] });
  expect(await one.admission.readAccount(account.account)).toMatchObject({ slots: 0, held: { wallet: PRICE } });
});

test('a heartbeat creates no hold for a call that was closed under the same epoch', async () => {
  const one = await world.replica();
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const [call] = await admitMany(one, account, 1);
  await redis.flushall();
  await recovered([one], { live: [call!] });
  await one.admission.heartbeat(heartbeatOf(world, 'live', 50, { calls: [running(call!)] }));
  const { epochs } = world.heartbeatReplies.at(-1)!.heartbeatReply;
  const { epoch } = epochs.find(({ bucket }) => bucket === call!.bucket)!;
  expect(epoch).not.toBe(call!.epoch);
  await one.admission.applySnapshots({
    ledgerEpoch: testEpoch(1),
    accounts: [{ account: account.account, rows: [], closed: [call!.id] }],
  });
  world.advance(91_000);
  await one.admission.sweep();
  await one.admission.heartbeat(heartbeatOf(world, 'live', 51, { calls: [running(call!, { callEpoch: epoch })] }));
  expect(await one.admission.readAccount(account.account)).toMatchObject({ slots: 0, held: {}, holds: [] });
});

test('a change gets a fault while a bucket has no epoch and is applied later', async () => {
  const one = await world.replica();
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const [call] = await admitMany(one, account, 1);
  heartbeatOf(world, 'live', 1, { calls: [running(call!)] });
  const revoked = account.changeKey({ state: 'revoked' });
  const update = { keys: [revoked] };
  const snapshot = {
    ledgerEpoch: testEpoch(1),
    accounts: [{ account: account.account, rows: [{ name: 'wallet', value: 7, version: 9 }], closed: [] }],
  };
  await redis.flushall();
  await expect(one.admission.apply(update)).rejects.toMatchObject({ code: 'admission_error' });
  await expect(one.admission.applySnapshots(snapshot)).rejects.toMatchObject({ code: 'admission_error' });
  // The bucket has an epoch while it is restoring. Data written under it stays, regardless of the
  // replica that opens the bucket.
  await until('a report names the bucket', () => world.reports.at(-1)?.some(({ bucket }) => bucket === call!.bucket));
  await one.admission.apply(update);
  await one.admission.applySnapshots(snapshot);
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({ kind: 'fault' });
  await recovered([one], { live: [call!] });
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({
    code: 'key_inactive',
    facts: {},
  });
  expect((await one.admission.readAccount(account.account)).rows).toMatchObject({ wallet: { value: 7 } });
});

test('an ID from the lost limit store is decided again and held once', async () => {
  const one = await world.replica();
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const entry = admitEntry(one.clock, [account.digest]);
  const first = await mustAdmit(one, entry);
  await redis.flushall();
  await recovered([one], { live: [] });
  const again = await mustAdmit(one, entry);
  expect(again).toMatchObject({ id: first.id, repeated: false });
  expect(again.epoch).not.toBe(first.epoch);
  await one.admission.heartbeat(heartbeatOf(world, 'live', 60, { calls: [running(first), running(again)] }));
  expect(await one.admission.readAccount(account.account)).toMatchObject({ slots: 1, held: { wallet: PRICE } });
  const unknown = { ...release(first, 'ok', 5), id: makeUuidV7(one.clock.now()) };
  await batch(one, { releases: [unknown, unknown] });
  expect(await one.admission.readAccount(account.account)).toMatchObject({ slots: 1, held: { wallet: PRICE + 5 } });
});

test('thousands of calls of one account are restored and kept by one heartbeat', async () => {
  const one = await world.replica();
  const account = makeAccount(world, { wallet: 100_000 * PRICE, terms: { concurrency: 20_000 } });
  const [first] = await admitMany(one, account, 1);
  if (!first) throw new Error('not admitted');
  // More IDs, texts and scores than an unpacked list can hold.
  const calls = Array.from({ length: 9_000 }, () => ({
    ...running(first, { callEpoch: 'lost' }),
    id: makeUuidV7(one.clock.now()),
  }));
  const created = await extendHolds(one.ports, 'edge1', listRunningCalls({ calls }), false);
  expect(created.failed).toEqual([]);
  const [epoch] = created.epochs;
  const kept = await extendHolds(
    one.ports,
    'edge1',
    listRunningCalls({ calls: calls.map((call) => ({ ...call, callEpoch: epoch?.epoch ?? '' })) }),
    false,
  );
  expect(kept).toMatchObject({ failed: [], epochs: [epoch] });
  expect((await one.admission.readAccount(account.account)).slots).toBe(9_001);
});
