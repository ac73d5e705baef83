import { beforeAll, expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { until } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import {
  PRICE,
  admitEntry,
  batch,
  heartbeatOf,
  makeAccount,
  makeWorld,
  mustAdmit,
  release,
  running,
} from '../../test/world.js';
import type { Replica } from '../../test/world.js';

const world = duringTests(makeWorld);
let one: Replica;

beforeAll(async () => {
  one = await world.replica();
});

const heartbeatReplyOf = (edge: string) =>
  world.heartbeatReplies.filter((said) => said.edge === edge).at(-1)?.heartbeatReply;

test('the heartbeat reply contains heartbeat, part, epochs and processed releases', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const ended = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  await one.admission.heartbeat(
    heartbeatOf(world, 'edge-a', 41, {
      chunk: 2,
      chunks: 3,
      calls: [running(call)],
      releases: [release(ended, 'void')],
    }),
  );
  expect(heartbeatReplyOf('edge-a')).toMatchObject({
    n: 41,
    chunk: 2,
    epochs: [{ bucket: call.bucket, epoch: call.epoch }],
    abort: [],
    released: [ended.id],
  });
  expect(await one.admission.readAccount(account.account)).toMatchObject({ slots: 1, held: { wallet: PRICE } });
});

// Covers r5
test('a missing call is held again only if it was held by an earlier limit store', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const lost = running(call, { id: makeUuidV7(one.clock.now()), callEpoch: 'another.epoch' });
  const closed = running(call, { id: makeUuidV7(one.clock.now()) });
  await one.admission.heartbeat(heartbeatOf(world, 'edge-b', 1, { calls: [lost, closed] }));
  const dump = await one.admission.readAccount(account.account);
  expect(dump.holds.find(({ id }) => id === lost.id)?.hold).toMatchObject({
    state: 'open',
    slot: true,
    worst: PRICE,
    edge: 'edge-b',
  });
  expect(dump.holds.some(({ id }) => id === closed.id)).toBe(false);
  expect(dump).toMatchObject({ slots: 2, held: { wallet: 2 * PRICE } });
  // The same heartbeat again creates no second hold.
  await one.admission.heartbeat(heartbeatOf(world, 'edge-b', 1, { calls: [lost, closed] }));
  expect(await one.admission.readAccount(account.account)).toMatchObject({ slots: 2, held: { wallet: 2 * PRICE } });
});

const short = (ids: string[], account: string, callEpoch: string) => ({
  names: [{ callEpoch, accounts: [{ account, ids }] }],
});

test('a short heartbeat extends the holds of the calls that it names', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const before = (await one.admission.readAccount(account.account)).holds[0]?.hold.due ?? 0;
  const readAt = one.clock.now();
  await until('time has passed', () => one.clock.now() > readAt + 1);
  await one.admission.heartbeat(heartbeatOf(world, 'edge-s', 1, short([call.id], account.account, call.epoch)));
  expect(heartbeatReplyOf('edge-s')).toEqual({
    n: 1,
    chunk: 0,
    epochs: [{ bucket: call.bucket, epoch: call.epoch }],
    abort: [],
    released: [],
    now: expect.any(Number),
  });
  const dump = await one.admission.readAccount(account.account);
  expect([dump.slots, (dump.holds[0]?.hold.due ?? 0) > before]).toEqual([1, true]);
});

// Covers r5
test('a named call without a hold is requested in a full heartbeat until it is held', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const lost = running(call, { id: makeUuidV7(one.clock.now()), callEpoch: 'another.epoch' });
  await one.admission.heartbeat(heartbeatOf(world, 'edge-t', 1, short([lost.id], account.account, lost.callEpoch)));
  expect(heartbeatReplyOf('edge-t')).toMatchObject({ epochs: [], full: true });
  await one.admission.heartbeat(heartbeatOf(world, 'edge-t', 2, { calls: [lost] }));
  const reply = heartbeatReplyOf('edge-t');
  expect([reply?.epochs, reply?.full]).toEqual([[{ bucket: call.bucket, epoch: call.epoch }], undefined]);
  expect(await one.admission.readAccount(account.account)).toMatchObject({ slots: 2, held: { wallet: 2 * PRICE } });
});

test('a late heartbeat does not restore an ended call', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  await batch(one, { releases: [release(call, 'void')] });
  await one.admission.heartbeat(
    heartbeatOf(world, 'edge-c', 1, { calls: [running(call), running(call, { callEpoch: 'another.epoch' })] }),
  );
  expect(await one.admission.readAccount(account.account)).toMatchObject({ slots: 0, held: {} });
});

test('the running calls of a suspended account must be ended', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const other = makeAccount(world, { wallet: 10 * PRICE });
  const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const unharmed = await mustAdmit(one, admitEntry(one.clock, [other.digest]));
  await one.admission.apply({ accounts: [{ account: account.account, state: 'suspended', version: 2 }] });
  await one.admission.heartbeat(heartbeatOf(world, 'edge-d', 1, { calls: [running(call), running(unharmed)] }));
  expect(heartbeatReplyOf('edge-d')?.abort).toEqual([call.id]);
});
