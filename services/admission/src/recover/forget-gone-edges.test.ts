import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { duringTests } from '@gateway/testkit/during-tests';
import { expiredEvent, expiredHold } from '../sweep/sweep-script.js';
import { readHold } from '../limit-store/hold-rules.js';
import { readTemplate } from '../limit-store/hold-template-rules.js';
import { findBucketKeys } from '../limit-store/key-rules.js';
import { PRICE, admitEntry, heartbeatOf, makeAccount, makeWorld, mustAdmit, running } from '../../test/world.js';
import type { Replica } from '../../test/world.js';
import { GoneEdgeCleanup } from './forget-gone-edges.js';

/** Longer than the expiry plus a minute. */
const LONG_AGO_MS = 200_000;

const world = duringTests(makeWorld);
let one: Replica;
let gone: GoneEdgeCleanup;

beforeAll(async () => {
  one = await world.replica();
});
beforeEach(() => {
  world.kept.clear();
  world.events.length = 0;
  heartbeatOf(world, 'edge-live', 1);
  gone = new GoneEdgeCleanup(one.ports);
});

const keptEdges = (): string[] =>
  [...world.kept.values()].map(({ heartbeat: { edge } }) => edge).filter((edge) => edge !== 'edge-live');

test('a gone edge is deleted after its unknown calls are recorded as expired', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const known = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const lost = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const calls = [running(known), running(lost)];
  const storedAtMs = Date.now() - LONG_AGO_MS;
  heartbeatOf(world, 'edge-gone', 1, { calls }, storedAtMs);
  heartbeatOf(world, 'edge-silent', 1, { calls }, Date.now() - 170_000);
  heartbeatOf(world, 'edge-idle', 1, {}, storedAtMs);
  account.state.records.add(known.id);
  await gone.check();
  expect([world.events, keptEdges()]).toEqual([[], ['edge-gone', 'edge-silent', 'edge-idle']]);
  await gone.check();
  // The event equals the one that a sweep writes for the hold. A different one would be a dead
  // letter.
  const keys = findBucketKeys(lost.bucket);
  const [, holds] = await one.limitStore.dump(keys.accounts + account.account, keys.holds + account.account);
  const hold = readHold(holds[lost.id]!);
  const due = { account: account.account, id: lost.id, hold, template: readTemplate(holds[`s:${hold.template}`]!) };
  expect(world.events).toEqual([expiredEvent(expiredHold(due), storedAtMs + 120_000)]);
  expect(keptEdges()).toEqual(['edge-gone', 'edge-silent']);
  account.state.records.add(lost.id);
  await gone.check();
  expect([world.events.length, keptEdges()]).toEqual([1, ['edge-silent']]);
});

test('nothing is recorded while billing is away or behind', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  heartbeatOf(world, 'edge-gone', 1, { calls: [running(call)] }, Date.now() - LONG_AGO_MS);
  await gone.check();
  world.owners.billingDown = true;
  await expect(gone.check()).rejects.toThrow('no responders');
  world.owners.billingDown = false;
  world.owners.caughtUpTo = () => Date.now() - LONG_AGO_MS;
  await gone.check();
  await gone.check();
  world.owners.caughtUpTo = () => Date.now();
  expect([world.events, keptEdges()]).toEqual([[], ['edge-gone']]);
  await gone.check();
  expect(world.events).toMatchObject([{ id: call.id, outcome: 'expired' }]);
});

test('edges have time to send heartbeats after an outage of the bus', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const calls = [running(call)];
  heartbeatOf(world, 'edge-cut-off', 1, { calls }, Date.now() - LONG_AGO_MS);
  await gone.check();
  world.listens = false;
  await gone.check();
  world.listens = true;
  await gone.check();
  heartbeatOf(world, 'edge-cut-off', 2, { calls });
  await gone.check();
  await gone.check();
  expect([world.events, keptEdges()]).toEqual([[], ['edge-cut-off']]);
});

test('no edge is gone while no other edge has sent a heartbeat since', async () => {
  world.kept.clear();
  heartbeatOf(world, 'edge-first', 1, {}, Date.now() - LONG_AGO_MS);
  heartbeatOf(world, 'edge-second', 1, {}, Date.now() - LONG_AGO_MS - 1_000);
  await gone.check();
  await gone.check();
  expect(keptEdges()).toEqual(['edge-first', 'edge-second']);
  heartbeatOf(world, 'edge-first', 2);
  await gone.check();
  await gone.check();
  expect(keptEdges()).toEqual(['edge-first']);
});
