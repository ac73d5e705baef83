import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bucketOfAccount } from '@gateway/contracts/ids';
import { admissionHeld, admissionSlots } from '@gateway/contracts/messages';
import type { SlotView } from '@gateway/contracts/operator';
import {
  AUTHOR,
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
import type { Admitted, Replica, TestAccount, World } from '../../test/world.js';

let world: World;
let one: Replica;

beforeAll(async () => {
  world = await makeWorld();
  one = await world.replica();
});
afterAll(() => world.stop());

async function page(account: string | null, cursor: string | null, limit: number) {
  const answer = admissionSlots.answer.parse(await one.admission.slots({ account, cursor, limit }));
  if ('refused' in answer) throw new Error(answer.refused.message);
  return answer;
}

/** Reads all pages and calls `between` after each. */
async function all(account: string | null, limit: number, between?: () => Promise<unknown>): Promise<SlotView[]> {
  const slots: SlotView[] = [];
  let cursor: string | null = null;
  do {
    const { slots: some, nextCursor }: Awaited<ReturnType<typeof page>> = await page(account, cursor, limit);
    expect(some.length).toBeLessThanOrEqual(limit);
    slots.push(...some);
    await between?.();
    cursor = nextCursor;
  } while (cursor !== null);
  return slots;
}

const idsOf = (slots: readonly SlotView[]) => slots.map(({ requestId }) => requestId);
const admitMany = async (account: TestAccount, count: number): Promise<Admitted[]> => {
  const { answers } = await batch(one, {
    admits: Array.from({ length: count }, () => admitEntry(one.clock, [account.digest])),
  });
  return [...answers.values()].map((answer) => answer as Admitted);
};

test('a running call is listed with its hold and an ended call is not', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const done = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const gone = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  await batch(one, { releases: [release(done, 'ok', 5), release(gone, 'void')] });
  const { admittedAt } = call.hold;
  const at = (ms: number) => new Date(ms).toISOString();
  expect(await all(account.account, 10)).toEqual([
    {
      requestId: call.id,
      accountId: account.account,
      keyId: account.key,
      memberId: account.member,
      modelId: 'acme/fixed',
      edge: 'edge1',
      state: 'open',
      takesSlot: true,
      heldUsd: '0.001',
      admittedAt: at(admittedAt),
      leaseUntil: at(admittedAt + 10_000),
      dueAt: at(admittedAt + 120_000),
    },
  ]);
  expect(await one.admission.held({ account: account.account })).toEqual({ walletNanoUsd: PRICE + 5, slots: 1 });
  world.owners.caughtUpTo = () => 0;
  world.advance(121_000);
  await one.admission.sweep();
  world.owners.caughtUpTo = () => Date.now();
  expect(await all(account.account, 10)).toMatchObject([{ state: 'expiring', takesSlot: false, edge: 'edge1' }]);
  expect(await one.admission.held({ account: account.account })).toEqual({ walletNanoUsd: PRICE + 5, slots: 0 });
});

test('a call is found by its ID among all others', async () => {
  const accounts = [1, 2, 3].map(() => makeAccount(world, { wallet: 10 * PRICE }));
  const calls = await Promise.all(accounts.map(({ digest }) => mustAdmit(one, admitEntry(one.clock, [digest]))));
  const ask = (requestId: string, account: string | null = null) =>
    one.admission.slots({ account, requestId, cursor: null, limit: 10 });
  expect(await ask(calls[1]!.id)).toMatchObject({
    slots: [{ requestId: calls[1]!.id, accountId: accounts[1]!.account }],
    nextCursor: null,
  });
  expect(await ask(calls[1]!.id, accounts[0]!.account)).toEqual({ slots: [], nextCursor: null });
  await batch(one, { releases: calls.map((call) => release(call, 'void')) });
  expect(await ask(calls[1]!.id)).toEqual({ slots: [], nextCursor: null });
});

test('an unknown account has no slots and no holds', async () => {
  expect(await all('acc-unseen', 10)).toEqual([]);
  const held = await one.admission.held({ account: 'acc-unseen' });
  expect(admissionHeld.answer.parse(held)).toEqual({ walletNanoUsd: 0, slots: 0 });
});

test.each([1, 7, 200])('pages of %i list every call of all accounts despite heartbeats in between', async (limit) => {
  const small = Array.from({ length: 15 }, () => makeAccount(world, { wallet: 100 * PRICE }));
  const large = makeAccount(world, { wallet: 1_000_000 * PRICE });
  const calls = (await Promise.all([...small.map((account) => admitMany(account, 2)), admitMany(large, 120)])).flat();
  let n = 0;
  const heartbeat = async () => {
    n += 1;
    world.advance(n % 5 === 0 ? 500 : 1);
    await one.admission.heartbeat(heartbeatOf(world, 'edge1', n, { calls: calls.map((call) => running(call)) }));
  };
  const slots = await all(null, limit, heartbeat);
  const ids = idsOf(slots);
  expect(calls.filter(({ id }) => !ids.includes(id))).toEqual([]);
  // The due times of all calls changed between the pages, and no call is listed twice.
  expect(new Set(ids).size).toBe(ids.length);
  const buckets = slots.map(({ accountId }) => bucketOfAccount(accountId));
  expect(buckets).toEqual([...buckets].sort((x, y) => x - y));
  expect(new Set(idsOf(await all(large.account, limit)))).toEqual(
    new Set(calls.flatMap(({ account, id }) => (account === large.account ? [id] : []))),
  );
  await batch(one, { releases: calls.slice(0, 75).map((call) => release(call, 'void')) });
  await batch(one, { releases: calls.slice(75).map((call) => release(call, 'void')) });
});

test('running calls are found behind many ended ones in several steps', async () => {
  const account = makeAccount(world, { wallet: 1_000_000 * PRICE });
  const calls: Admitted[] = [];
  for (let sent = 0; sent < 2_000; sent += 250) calls.push(...(await admitMany(account, 250)));
  const kept = calls.filter((_call, index) => index % 400 === 0);
  const ended = calls.filter((call) => !kept.includes(call));
  for (let at = 0; at < ended.length; at += 250) {
    await batch(one, { releases: ended.slice(at, at + 250).map((call) => release(call, 'void')) });
  }
  expect(idsOf(await all(account.account, 2)).sort()).toEqual(kept.map(({ id }) => id).sort());
  const last = calls.at(-1)!;
  const found = { requestId: kept[3]!.id, author: AUTHOR };
  expect(await one.admission.releaseSlot(found)).toMatchObject({ released: true, account: account.account });
  expect(await one.admission.releaseSlot({ ...found, requestId: last.id })).toMatchObject({
    refused: { code: 'not_found' },
  });
});

test.each(['x', '256.0.', '1.0', '1.0.nonsense', '-1.0.'])('%j is rejected as a cursor', async (cursor) => {
  expect(await one.admission.slots({ account: null, cursor, limit: 1 })).toMatchObject({
    refused: { code: 'invalid_request', param: 'cursor' },
  });
});

test('a cursor of another account is refused', async () => {
  const bucket = bucketOfAccount('acc-unseen');
  const answer = await one.admission.slots({ account: 'acc-unseen', cursor: `${bucket === 0 ? 1 : 0}.0.`, limit: 1 });
  expect(answer).toMatchObject({ refused: { param: 'cursor' } });
});
