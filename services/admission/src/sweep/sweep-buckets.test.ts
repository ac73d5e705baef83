import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { type HoldFields, usageEvent } from '@gateway/contracts/messages';
import { until } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import {
  type Admitted,
  PRICE,
  type Replica,
  type TestAccount,
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
import { testEpoch } from '@gateway/testkit/random';
import { type PollSharing, buildDueCall } from './due-script.js';
import { parseEpochTime } from '../limit-store/epoch-rules.js';
import { ASKED_AGAIN_MAX, type SweepOutcome } from './sweep-script.js';
import { LedgerClient } from './ledger-client.js';
import { sweepBuckets } from './sweep-buckets.js';

const world = duringTests(() => makeWorld({ frozenAt: Date.now() }));
let one: Replica;

beforeAll(async () => {
  one = await world.replica();
});

const heartbeat = (n: number, ...calls: Admitted[]) =>
  one.admission.heartbeat(heartbeatOf(world, 'edge1', n, { calls: calls.map((call) => running(call)) }));
const dump = (account: TestAccount) => one.admission.readAccount(account.account);
const eventsOf = (account: TestAccount) => world.events.filter(({ hold }) => hold.account === account.account);
const asksFor = (id: string) => world.owners.asked.loadBalances.filter(({ ids }) => ids.includes(id)).length;

test('a call without a heartbeat loses its slot after ten seconds, not its hold', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE, terms: { concurrency: 1 } });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  world.advance(9_000);
  await one.admission.sweep();
  expect((await dump(account)).slots).toBe(1);
  world.advance(1_100);
  await one.admission.sweep();
  expect(await dump(account)).toMatchObject({ slots: 0, held: { wallet: PRICE } });
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({ kind: 'admitted' });
});

// Covers r5; r9
test('a heartbeat keeps the slot for 30 seconds and the hold for 120', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  await heartbeat(1, call);
  world.advance(29_000);
  await one.admission.sweep();
  expect((await dump(account)).slots).toBe(1);
  await heartbeat(2, call);
  world.advance(31_000);
  await one.admission.sweep();
  expect(await dump(account)).toMatchObject({ slots: 0, held: { wallet: PRICE } });
  // A heartbeat after the lapse keeps the hold but not the slot, which another call may have.
  await heartbeat(3, call);
  world.advance(60_000);
  await one.admission.sweep();
  expect((await dump(account)).holds[0]?.hold).toMatchObject({ state: 'open', slot: false });
  world.advance(61_000);
  await one.admission.sweep();
  expect((await dump(account)).holds[0]?.hold).toMatchObject({ state: 'expiring' });
});

// Covers r9
test('all replicas record a call of a vanished edge as expired in the same way', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const two = await world.replica();
  const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  world.owners.caughtUpTo = () => 0;
  world.advance(121_000);
  await one.admission.sweep();
  expect(eventsOf(account)).toEqual([]);
  expect(await dump(account)).toMatchObject({ slots: 0, held: { wallet: PRICE } });
  world.owners.caughtUpTo = () => Date.now();
  world.advance(5_100);
  await one.admission.sweep();
  world.advance(10_100);
  await two.admission.sweep();
  const [first, second] = eventsOf(account);
  expect(second).toEqual(first);
  expect(usageEvent.parse(first)).toEqual(first);
  expect(first).toMatchObject({
    id: call.id,
    rank: 1,
    outcome: 'expired',
    amountNanoUsd: 0,
    hold: call.hold,
    endpoint: '/v1/chat/completions',
  });
  // The balance snapshot with its ID ends the hold. Nothing is left 90 s after the admission.
  account.state.records.add(call.id);
  await one.admission.applySnapshots({
    ledgerEpoch: testEpoch(1),
    accounts: [{ account: account.account, rows: [], closed: [call.id] }],
  });
  expect(await dump(account)).toMatchObject({ slots: 0, held: {}, holds: [] });
});

test('a done hold with a lost balance snapshot is queried after five seconds', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  await batch(one, { releases: [release(call, 'ok', 400_000)] });
  account.state.records.add(call.id);
  account.state.rows.set('wallet', { value: 10 * PRICE - 400_000, version: 2 });
  world.advance(4_000);
  await one.admission.sweep();
  expect((await dump(account)).held['wallet']).toBe(400_000);
  world.advance(1_100);
  await one.admission.sweep();
  const ended = await dump(account);
  expect(ended.held).toEqual({});
  expect(ended.rows['wallet']).toEqual({ value: 10 * PRICE - 400_000, version: 2 });
  expect(eventsOf(account)).toEqual([]);
  // The answer that closes the hold contains every balance that the record changed, including the
  // months, which are only sent on request.
  const asked = world.owners.asked.loadBalances.find(({ ids }) => ids.includes(call.id));
  const { key, member, periods } = call.hold as HoldFields;
  expect(asked?.names).toEqual([`km:${key}:${periods.month}`, `mm:${member}:${periods.month}`]);
});

// Covers r9
test('an unresponsive billing is queried with growing delays and nothing is lost', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  await batch(one, { releases: [release(call, 'ok', PRICE)] });
  world.owners.billingDown = true;
  const begun = one.clock.now();
  while (one.clock.now() < begun + 185_000) {
    world.advance(1_000);
    await one.admission.sweep();
  }
  world.owners.billingDown = false;
  // Queries after 5 s, then 5, 10, 20, 40 and 60 seconds later: at 5, 10, 20, 40, 80 and 140
  // seconds, unless a sweep's query was for other holds.
  const asked = asksFor(call.id);
  expect(asked).toBeLessThanOrEqual(6);
  expect((await dump(account)).held['wallet']).toBe(PRICE);
  world.advance(60_000);
  await one.admission.sweep();
  expect(asksFor(call.id)).toBe(asked + 1);
});

// Covers r9; billing is down
test('a sweep sends one query while billing is away and all queries after it', async () => {
  const accounts = Array.from({ length: 12 }, () => makeAccount(world, { wallet: 10 * PRICE }));
  const calls = await Promise.all(accounts.map(({ digest }) => mustAdmit(one, admitEntry(one.clock, [digest]))));
  for (const call of calls) await batch(one, { releases: [release(call, 'ok', PRICE)] });
  const asked = () => calls.reduce((sum, { id }) => sum + asksFor(id), 0);
  const lines: string[] = [];
  const log = { ...one.ports.log, warn: (_facts: object, text: string) => void lines.push(text) };
  const ledger = new LedgerClient({ ...one.ports, log });
  const sweep = async (): Promise<void> => {
    await sweepBuckets(one.ports, ledger, () => undefined, { othersMs: 0, ownMs: 0 });
    await ledger.idle();
  };
  world.owners.billingDown = true;
  world.advance(5_100);
  await sweep();
  for (let round = 0; round < 5; round += 1) {
    const before = asked();
    world.advance(60_100);
    await sweep();
    expect(asked() - before).toBeLessThanOrEqual(1);
  }
  expect(lines.length).toBeLessThanOrEqual(2);
  world.owners.billingDown = false;
  for (const [index, { id }] of calls.entries()) accounts[index]?.state.records.add(id);
  // The first query shows that billing is back. The next sweep queries the other holds in its
  // bucket.
  for (let round = 0; round < 2; round += 1) {
    world.advance(60_100);
    await sweep();
  }
  for (const account of accounts) expect((await dump(account)).held).toEqual({});
});

test('a sweep reads one waiting hold per bucket until billing responds', async () => {
  const waiting = 10 + ASKED_AGAIN_MAX;
  const account = makeAccount(world, { wallet: 1_000 * PRICE });
  const calls: Admitted[] = [];
  for (let count = 0; count < waiting; count += 1) {
    const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
    await batch(one, { releases: [release(call, 'ok', PRICE)] });
    calls.push(call);
  }
  const ledger = new LedgerClient(one.ports);
  const sweep = async (): Promise<number> => {
    let read = 0;
    const take = (outcomes: Iterable<SweepOutcome>): void => {
      const all = [...outcomes];
      read += all.flatMap(({ dueHolds }) => dueHolds).filter((ask) => ask.account === account.account).length;
      ledger.take(all);
    };
    await sweepBuckets(one.ports, { settles: () => ledger.settles(), take }, () => undefined, {
      othersMs: 0,
      ownMs: 0,
    });
    await ledger.idle();
    world.advance(60_100);
    return read;
  };
  world.owners.billingDown = true;
  world.advance(5_100);
  // The first query for each. One failed query shows that billing is away.
  expect([await sweep(), await sweep(), await sweep()]).toEqual([waiting, 1, 1]);
  world.owners.billingDown = false;
  for (const { id } of calls) account.state.records.add(id);
  expect([await sweep(), await sweep(), await sweep()]).toEqual([1, ASKED_AGAIN_MAX, 9]);
  expect((await dump(account)).held).toEqual({});
});

test('tombstones and their data are deleted 90 seconds after the admission', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  await batch(one, { releases: [release(call, 'void')] });
  world.advance(89_000);
  await one.admission.sweep();
  expect((await dump(account)).holds.map(({ hold }) => hold.state)).toEqual(['gone']);
  world.advance(1_100);
  await one.admission.sweep();
  const ended = await dump(account);
  expect(ended.holds).toEqual([]);
  expect(ended.templates).toEqual({});
});

test('three concurrent sweeps query and free no slot twice', async () => {
  const account = makeAccount(world, { wallet: 1_000 * PRICE });
  const others = [await world.replica(), await world.replica()];
  const calls = await Promise.all(
    Array.from({ length: 40 }, () => mustAdmit(one, admitEntry(one.clock, [account.digest]))),
  );
  world.advance(11_000);
  await Promise.all([one, ...others].map((replica) => replica.admission.sweep()));
  expect((await dump(account)).slots).toBe(0);
  world.advance(120_000);
  await Promise.all([one, ...others].map((replica) => replica.admission.sweep()));
  for (const { id } of calls) expect(asksFor(id)).toBe(1);
  expect(eventsOf(account)).toHaveLength(40);
});

describe('silence', () => {
  let redis: Redis;
  beforeAll(() => {
    redis = new Redis(world.server.url);
  });
  afterAll(() => void redis.disconnect());

  /** Simulates a time without polls. The clock of the world does not change. */
  async function beSilent(ms: number, at = redis): Promise<void> {
    const poll = String(await at.get('{0}poll')).split(' ');
    await at.set('{0}poll', [...poll.slice(0, 5), Number(poll[5]) - ms, poll[6]].join(' '));
  }

  // Covers r9; Redis cannot be reached; all admissions are away
  test('during a gap in sweeps counts only after a lease with heartbeats', async () => {
    // A gap is measured by the server's own clock, which is frozen for the other tests.
    const going = await makeWorld();
    const own = await going.replica();
    const redis = new Redis(going.server.url);
    try {
      const account = makeAccount(going, { wallet: 10 * PRICE });
      const calls = [];
      for (let count = 0; count < 2; count += 1)
        calls.push(await mustAdmit(own, admitEntry(own.clock, [account.digest])));
      const [lives, dead] = calls as [Admitted, Admitted];
      const report = (n: number, ...named: Admitted[]) =>
        own.admission.heartbeat(heartbeatOf(going, 'edge1', n, { calls: named.map((call) => running(call)) }));
      await report(1, lives, dead);
      await own.admission.sweep();
      await beSilent(3_600_000, redis);
      going.advance(3_600_000);
      await own.admission.sweep();
      expect(await own.admission.readAccount(account.account)).toMatchObject({
        slots: 2,
        held: { wallet: 2 * PRICE },
      });
      await report(2, lives);
      // Simulates that a lease has passed on that server.
      const poll = String(await redis.get('{0}poll')).split(' ');
      expect(Number(poll[6])).toBeGreaterThan(0);
      await redis.set('{0}poll', [...poll.slice(0, 6), Number(poll[6]) - 30_000].join(' '));
      going.advance(6_000);
      await own.admission.sweep();
      const { slots, holds } = await own.admission.readAccount(account.account);
      expect(slots).toBe(1);
      expect(holds.find(({ id }) => id === lives.id)?.hold).toMatchObject({ state: 'open', slot: true });
      expect(holds.find(({ id }) => id === dead.id)?.hold).toMatchObject({ state: 'expiring', slot: false });
    } finally {
      redis.disconnect();
      await going.stop();
    }
  });

  test('of a short pause counts', async () => {
    const account = makeAccount(world, { wallet: 10 * PRICE });
    await mustAdmit(one, admitEntry(one.clock, [account.digest]));
    await one.admission.sweep();
    await beSilent(60_000);
    world.advance(11_000);
    await one.admission.sweep();
    expect((await dump(account)).slots).toBe(0);
  });

  // Covers r9; NATS is gone
  test('does not count while the bus is away, and such a poll is not shared', async () => {
    const account = makeAccount(world, { wallet: 10 * PRICE });
    await mustAdmit(one, admitEntry(one.clock, [account.digest]));
    world.listens = false;
    world.advance(121_000);
    await one.admission.sweep();
    const { slots, holds } = await dump(account);
    expect([slots, holds[0]?.hold.state]).toEqual([1, 'open']);
    world.listens = true;
    world.advance(6_000);
    await one.admission.sweep();
    expect((await dump(account)).slots).toBe(0);
  });

  // Covers r9
  test('does not expire calls in a recent stored heartbeat', async () => {
    const account = makeAccount(world, { wallet: 10 * PRICE });
    const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
    world.advance(121_000);
    // Stored in the stream, but not processed by any replica.
    heartbeatOf(world, 'edge1', 7, { calls: [running(call)] }, one.clock.now() - 60_000);
    await one.admission.sweep();
    expect((await dump(account)).holds[0]?.hold.state).toBe('expiring');
    expect(eventsOf(account)).toEqual([]);
    world.advance(61_000);
    one.pass(61_000);
    await one.admission.sweep();
    expect(eventsOf(account)).toMatchObject([{ id: call.id, outcome: 'expired' }]);
    world.kept.clear();
  });
});

describe('a poll of one replica', () => {
  /** A pause between two sweeps that is longer than any test. */
  const SHARED = { othersMs: 60_000, ownMs: 60_000 };
  const LISTENING = { listens: true, silenceMs: 600_000, leaseMs: 30_000 };
  const noticed: number[] = [];
  const sweepAs = (replica: Replica, sharing: PollSharing = SHARED) =>
    sweepBuckets(replica.ports, new LedgerClient(replica.ports), (bucket) => noticed.push(bucket), sharing);
  const slotsOf = async (account: TestAccount) => (await dump(account)).slots;

  let two: Replica;
  let redis: Redis;
  beforeAll(async () => {
    two = await world.replica();
    redis = new Redis(world.server.url);
  });
  beforeEach(() => {
    noticed.length = 0;
    world.advance(SHARED.ownMs + 1);
  });
  afterAll(() => void redis.disconnect());

  test('replaces those of the others until its time ends', async () => {
    const account = makeAccount(world, { wallet: 10 * PRICE });
    await sweepAs(one);
    await mustAdmit(one, admitEntry(one.clock, [account.digest]));
    world.advance(11_000);
    await sweepAs(two);
    expect(await slotsOf(account)).toBe(1);
    // A replica's own poll does not replace its next one.
    await sweepAs(one);
    expect(await slotsOf(account)).toBe(0);
    await mustAdmit(one, admitEntry(one.clock, [account.digest]));
    world.advance(SHARED.ownMs + 1);
    await sweepAs(two);
    expect(await slotsOf(account)).toBe(0);
  });

  test('does not replace others if it found a lost bucket', async () => {
    await sweepAs(one);
    await redis.del('{7}epoch');
    await sweepAs(one);
    await sweepAs(two);
    expect(noticed).toEqual([7, 7]);
    await one.admission.sweep();
    await until('all buckets are open', () => one.admission.bucketsPending() === 0);
  });

  test('is ignored if it is of another Redis run or from the future', async () => {
    const account = makeAccount(world, { wallet: 10 * PRICE });
    await sweepAs(one);
    const poll = String(await redis.get('{0}poll'));
    const till = poll.split(' ')[2] ?? '';
    const others = [poll.replace(/^\S+/, 'f'.repeat(40)), poll.replace(till, String(Number(till) + 120_000))];
    for (const other of others) {
      await redis.set('{0}poll', other);
      await mustAdmit(one, admitEntry(one.clock, [account.digest]));
      world.advance(11_000);
      await sweepAs(two);
      expect(await slotsOf(account)).toBe(0);
    }
  });

  test('returns the newest epoch, the holds and all buckets with due entries', async () => {
    const accounts = Array.from({ length: 20 }, () => makeAccount(world, { wallet: 10 * PRICE }));
    const calls = [];
    for (const { digest } of accounts) calls.push(await mustAdmit(one, admitEntry(one.clock, [digest])));
    const ask = (replica: Replica) =>
      replica.limitStore.run([buildDueCall([...Array(256).keys()], replica.ports.replica, SHARED, LISTENING)]);
    const [state, , newest = '', holds = ''] = (await ask(one))[0] as string[];
    expect(state).toBe('polled');
    expect((await ask(two))[0]).toEqual(['recent', expect.any(String), newest, holds]);
    const epochs = await Promise.all([...Array(256).keys()].map((bucket) => redis.get(`{${bucket}}epoch`)));
    expect(parseEpochTime(newest)).toBe(Math.max(...epochs.map((epoch) => parseEpochTime(epoch?.split(' ')[0] ?? ''))));
    expect(Number(holds)).toBeGreaterThanOrEqual(calls.length);
    world.advance(11_000);
    const due = (await ask(one))[0] as string[];
    expect(due.slice(5)).toEqual(expect.arrayContaining(calls.map(({ bucket }) => String(bucket))));
  });

  test('does not replace others if its replica cannot settle due holds', async () => {
    const account = makeAccount(world, { wallet: 10 * PRICE });
    const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
    await batch(one, { releases: [release(call, 'ok', PRICE)] });
    world.advance(6_000);
    const ledger = new LedgerClient(one.ports);
    expect(ledger.settles()).toBe(true);
    world.owners.billingDown = true;
    await sweepBuckets(one.ports, ledger, () => undefined, { othersMs: 0, ownMs: 0 });
    await ledger.idle();
    world.owners.billingDown = false;
    expect(ledger.settles()).toBe(false);
    world.advance(6_000);
    await sweepBuckets(one.ports, ledger, () => undefined, { othersMs: 0, ownMs: 0 });
    await ledger.idle();
    expect(ledger.settles()).toBe(true);
  });
});
