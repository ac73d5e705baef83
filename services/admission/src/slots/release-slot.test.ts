import { beforeAll, expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { until } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { testEpoch } from '@gateway/testkit/random';
import {
  PRICE,
  admit,
  admitEntry,
  batch,
  heartbeatOf,
  makeAccount,
  makeWorld,
  mustAdmit,
  release,
  running,
  AUTHOR,
} from '../../test/world.js';
import type { Admitted, Replica, TestAccount } from '../../test/world.js';

const world = duringTests(makeWorld);
let one: Replica;
let two: Replica;

beforeAll(async () => {
  one = await world.replica();
  two = await world.replica();
});

const take = (call: { id: string }, replica = one) =>
  replica.admission.releaseSlot({ requestId: call.id, author: AUTHOR });
const dump = (account: TestAccount) => one.admission.readAccount(account.account);
const holdOf = async (account: TestAccount, { id }: { id: string }) =>
  (await dump(account)).holds.find((held) => held.id === id)?.hold;
const abortsOf = (edge: string) =>
  world.heartbeatReplies.filter((said) => said.edge === edge).at(-1)?.heartbeatReply.abort;
const snapshot = (account: TestAccount, closed: string[]) =>
  one.admission.applySnapshots({
    ledgerEpoch: testEpoch(1),
    accounts: [{ account: account.account, rows: [], closed }],
  });

const NOT_FOUND = { refused: { code: 'not_found' } };

async function oneSlotTaken(): Promise<{ account: TestAccount; call: Admitted }> {
  const account = makeAccount(world, { wallet: 10 * PRICE, terms: { concurrency: 1 } });
  return { account, call: await mustAdmit(one, admitEntry(one.clock, [account.digest])) };
}

test('taking back frees the slot, keeps the money held and ends the call', async () => {
  const { account, call } = await oneSlotTaken();
  expect(await admit(two, admitEntry(two.clock, [account.digest]))).toMatchObject({ code: 'concurrency_limit' });
  expect(await take(call)).toEqual({ released: true, account: account.account });
  expect(await take(call, two)).toEqual({ released: true, account: account.account });
  expect(await dump(account)).toMatchObject({ slots: 0, held: { wallet: PRICE } });
  await mustAdmit(two, admitEntry(two.clock, [account.digest]));
  // Neither a heartbeat that was in flight nor a later one takes the slot again.
  for (const n of [1, 2]) {
    await two.admission.heartbeat(heartbeatOf(world, 'edge-taken', n, { calls: [running(call)] }));
    expect(abortsOf('edge-taken')).toEqual([call.id]);
    expect(await dump(account)).toMatchObject({ slots: 1, held: { wallet: 2 * PRICE } });
  }
  await batch(one, { releases: [release(call, 'ok', 5)] });
  expect(await dump(account)).toMatchObject({ slots: 1, held: { wallet: PRICE + 5 } });
  expect(await holdOf(account, call)).toMatchObject({ state: 'done', takenBack: false });
  expect(await take(call)).toMatchObject(NOT_FOUND);
});

test('unknown, released and settled IDs are not found', async () => {
  const { account, call } = await oneSlotTaken();
  expect(await take({ id: makeUuidV7(one.clock.now()) })).toMatchObject(NOT_FOUND);
  await batch(one, { releases: [release(call, 'ok', 5)] });
  expect(await take(call)).toMatchObject(NOT_FOUND);
  await snapshot(account, [call.id]);
  expect(await take(call)).toMatchObject(NOT_FOUND);
  expect(await dump(account)).toMatchObject({ slots: 0, held: {} });
});

test.each(['ok', 'void', 'snapshot'] as const)(
  'taking back during the end of the call (%s) frees the slot once',
  async (end) => {
    const account = makeAccount(world, { wallet: 100 * PRICE });
    const kept = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
    for (let round = 0; round < 20; round += 1) {
      const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
      const ending = () =>
        end === 'snapshot' ? snapshot(account, [call.id]) : batch(two, { releases: [release(call, end, 3)] });
      await Promise.all(round % 2 === 0 ? [take(call), ending(), take(call, two)] : [ending(), take(call)]);
      expect((await dump(account)).slots).toBe(1);
      await snapshot(account, [call.id]);
      await batch(one, { releases: [release(call, 'ok', 3)] });
      expect(await dump(account)).toMatchObject({ slots: 1, held: { wallet: PRICE } });
    }
    expect(await take(kept)).toMatchObject({ released: true });
  },
);

test('a taken-back call of a dead edge expires and frees its money', async () => {
  const { account, call } = await oneSlotTaken();
  await one.admission.heartbeat(heartbeatOf(world, 'edge-dying', 1, { calls: [running(call)] }));
  await take(call);
  world.advance(31_000);
  await one.admission.sweep();
  expect(await holdOf(account, call)).toMatchObject({ state: 'open', slot: false, takenBack: true });
  world.advance(90_000);
  await one.admission.sweep();
  expect(world.events.filter(({ id }) => id === call.id)).toMatchObject([{ outcome: 'expired', amountNanoUsd: 0 }]);
  // An edge that was only paused still receives the request to end the call.
  await one.admission.heartbeat(heartbeatOf(world, 'edge-dying', 2, { calls: [running(call)] }));
  expect(abortsOf('edge-dying')).toEqual([call.id]);
  expect(await dump(account)).toMatchObject({ slots: 0, held: { wallet: PRICE } });
  await snapshot(account, [call.id]);
  expect(await dump(account)).toMatchObject({ slots: 0, held: {} });
});

test('taking back a lapsed or expiring call frees no other slot', async () => {
  const { account, call } = await oneSlotTaken();
  world.advance(11_000);
  await one.admission.sweep();
  const other = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  expect(await take(call)).toMatchObject({ released: true });
  expect(await dump(account)).toMatchObject({ slots: 1, held: { wallet: 2 * PRICE } });
  world.owners.caughtUpTo = () => 0;
  world.advance(121_000);
  await one.admission.sweep();
  expect(await holdOf(account, other)).toMatchObject({ state: 'expiring' });
  expect(await take(other)).toMatchObject({ released: true });
  expect(await dump(account)).toMatchObject({ slots: 0, held: { wallet: 2 * PRICE } });
  await one.admission.heartbeat(heartbeatOf(world, 'edge-late', 1, { calls: [running(call), running(other)] }));
  expect(abortsOf('edge-late')).toEqual([call.id, other.id]);
  world.owners.caughtUpTo = () => Date.now();
});

test('a request during a restore never returns not_found', async () => {
  const { call } = await oneSlotTaken();
  const { Redis } = await import('ioredis');
  const redis = new Redis(world.server.url);
  world.kept.clear();
  heartbeatOf(world, 'edge-silent', 1);
  await redis.flushdb();
  await expect(take(call)).rejects.toMatchObject({ code: 'admission_error' });
  // The taken-back state is lost with the limit store. The heartbeat restores the call with its
  // slot, which can be taken back again.
  await until('a report names the bucket', () => world.reports.at(-1)?.some(({ bucket }) => bucket === call.bucket));
  heartbeatOf(world, 'edge-silent', 2, { calls: [running(call)], last: true });
  await until('all buckets are open', async () => {
    await one.admission.sweep().catch(() => undefined);
    return one.admission.bucketsPending() === 0 && (await redis.get(`{${call.bucket}}epoch`))?.includes(' open ');
  });
  await redis.quit();
  const again = await until('it can be taken back', () => take(call).catch(() => null));
  expect(again).toMatchObject({ released: true });
});

test('a bucket that is restored with its data keeps the taken-back state', async () => {
  const { account, call } = await oneSlotTaken();
  await take(call);
  world.kept.clear();
  heartbeatOf(world, 'edge-kept', 1, { calls: [running(call)], last: true });
  const { Redis } = await import('ioredis');
  const redis = new Redis(world.server.url);
  await redis.del(`{${call.bucket}}epoch`);
  await one.admission.sweep();
  await until('the bucket is open', async () => (await redis.get(`{${call.bucket}}epoch`))?.includes(' open '));
  await redis.quit();
  expect(await holdOf(account, call)).toMatchObject({ state: 'open', slot: false, takenBack: true });
  expect((await dump(account)).slots).toBe(0);
});
