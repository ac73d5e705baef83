import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { admissionHeld, edgeHeartbeat } from '@gateway/contracts/messages';
import { until } from '@gateway/testkit';
import { Redis } from 'ioredis';
import type { StartedAdmission } from '../service.js';
import { ensureUsage, makeBusWorld } from '../../test/bus-world.js';
import type { BusWorld } from '../../test/bus-world.js';
import { FakeEdge } from '../../test/fake-edge.js';
import { Spending } from '../../test/spending.js';
import { PRICE, makeAccount, makeOwners, ownersOf } from '../../test/world.js';

const owners = makeOwners();
let world: BusWorld;
let one: StartedAdmission;
let edge: FakeEdge;
let redis: Redis;

beforeAll(async () => {
  // It kills NATS.
  world = await makeBusWorld(ownersOf(owners), { own: true });
  await world.publishCatalog(1);
  const started = await world.start('one');
  await until('it is ready', () => started.ready.report().ready);
  one = started;
  edge = new FakeEdge(await world.connect('edge-proxy'), 'edge-a', new Spending(), () => one.clock.now());
  redis = new Redis(world.redis.url);
});
afterAll(async () => {
  edge.kill();
  redis.disconnect();
  await world.stop();
});

const allOpen = () =>
  until('all buckets are open', async () => {
    const epoch = await redis.get('{0}epoch');
    return one.admission.bucketsPending() === 0 && epoch?.includes(' open ');
  });

test('a lost limit store is restored from heartbeats in a new, empty NATS', async () => {
  const account = makeAccount({ owners }, { wallet: 2 * PRICE });
  for (let made = 0; made < 2; made += 1) await edge.admit(account.digest);
  await world.nats.restart!({ kill: true, emptyState: true });
  await until('the buses are back', () => Object.values(world.buses).every((bus) => bus.connected()));
  await ensureUsage(world.buses.billing);
  const heartbeats = () => world.buses['edge-proxy'].streamState(edgeHeartbeat.stream).catch(() => null);
  await until('the heartbeats are kept again', async () => ((await heartbeats())?.messages ?? 0) > 0);
  await redis.flushall();
  await allOpen();
  const held = await world.buses.dashboard.request(admissionHeld, { account: account.account });
  expect(held).toEqual({ walletNanoUsd: 2 * PRICE, slots: 2 });
  expect(await edge.start(account.digest)).toEqual({ kind: 'refused', code: 'insufficient_credits' });
});

test('no bucket opens after a loss of both until the bus has the running calls', async () => {
  const account = makeAccount({ owners }, { wallet: 2 * PRICE });
  for (let made = 0; made < 2; made += 1) await edge.admit(account.digest);
  await edge.heartbeat();
  process.kill(world.nats.pid!, 'SIGSTOP');
  try {
    await redis.flushall();
    await until('the loss is noticed', () => one.admission.bucketsPending() > 0);
    await until('an epoch is set', () => redis.get('{0}epoch'));
    await until('a second has passed for Redis', async () => {
      const [, , since] = (await redis.get('{0}epoch'))!.split(' ');
      return Date.now() - Number(since) > 1_000;
    });
    expect(await redis.get('{0}epoch')).toMatch(' restoring ');
  } finally {
    process.kill(world.nats.pid!, 'SIGCONT');
  }
  await allOpen();
  const refused = await until('a call is decided', async () => {
    const outcome = await edge.start(account.digest);
    return outcome.kind === 'fault' ? null : outcome;
  });
  expect(refused).toEqual({ kind: 'refused', code: 'insufficient_credits' });
});
