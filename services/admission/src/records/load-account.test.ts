import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bucketOfAccount } from '@gateway/contracts/ids';
import { keyMonthRow, monthOf } from '@gateway/metering';
import { testEpoch } from '@gateway/testkit/random';
import { Redis } from 'ioredis';
import { buildApplyCall } from '../apply/apply-script.js';
import { listAccountKeys, findBucketKeys } from '../limit-store/key-rules.js';
import { NO_PLAN, PRICE, admit, admitEntry, makeAccount, makeWorld, mustAdmit } from '../../test/world.js';
import type { Replica, TestAccount, World } from '../../test/world.js';

let world: World;
let one: Replica;

beforeAll(async () => {
  world = await makeWorld({ frozenAt: Date.now() });
  one = await world.replica();
});
afterAll(() => world.stop());

const asksOf = (account: TestAccount) =>
  world.owners.asked.loadBalances.filter(({ account: asked }) => asked === account.account);

// Covers r11
test('the calls of an unloaded account share one load', async () => {
  const account = makeAccount(world, { wallet: 1_000 * PRICE });
  const before = world.owners.asked.loadAccount;
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => admit(one, admitEntry(one.clock, [account.digest]))),
  );
  expect(answers.every(({ kind }) => kind === 'admitted')).toBe(true);
  expect(asksOf(account)).toHaveLength(1);
  expect(world.owners.asked.loadAccount - before).toBe(1);
});

// Covers billing is down; accounts is down
test('an unresponsive owner has its own code, and none for a loaded account', async () => {
  const loaded = makeAccount(world, { wallet: 1_000 * PRICE });
  const unknown = makeAccount(world, { wallet: 1_000 * PRICE });
  await mustAdmit(one, admitEntry(one.clock, [loaded.digest]));
  world.owners.accountsDown = true;
  expect(await admit(one, admitEntry(one.clock, [unknown.digest]))).toMatchObject({
    kind: 'fault',
    code: 'lookup_failed',
  });
  expect(await admit(one, admitEntry(one.clock, [loaded.digest]))).toMatchObject({ kind: 'admitted' });
  world.owners.accountsDown = false;
  world.owners.billingDown = true;
  expect(await admit(one, admitEntry(one.clock, [unknown.digest]))).toMatchObject({
    kind: 'fault',
    code: 'admission_error',
  });
  expect(await admit(one, admitEntry(one.clock, [loaded.digest]))).toMatchObject({ kind: 'admitted' });
  world.owners.billingDown = false;
  expect(await admit(one, admitEntry(one.clock, [unknown.digest]))).toMatchObject({ kind: 'admitted' });
});

test('undecided calls are logged in one line with the cause', async () => {
  const lines: { readonly facts: object; readonly text: string }[] = [];
  const quiet = (): void => undefined;
  const log = {
    debug: quiet,
    info: quiet,
    error: quiet,
    warn: (facts: object, text: string) => void lines.push({ facts, text }),
  };
  const two = await world.replica({ log });
  const unknown = makeAccount(world, { wallet: PRICE });
  world.owners.billingDown = true;
  for (let call = 0; call < 3; call += 1) await admit(two, admitEntry(two.clock, [unknown.digest]));
  world.owners.billingDown = false;
  expect(lines.filter(({ text }) => text.includes('cannot be decided'))).toEqual([
    {
      facts: { err: expect.objectContaining({ message: 'billing did not respond to a load' }), times: 1 },
      text: 'calls cannot be decided and are answered 500',
    },
  ]);
});

test('billing is requested to catch up only until it has done so under the epoch', async () => {
  const accounts = Array.from({ length: 2_000 }, () => makeAccount(world, { wallet: PRICE }));
  const asked = new Set(world.owners.asked.loadBalances.map(({ account }) => bucketOfAccount(account)));
  const untouched = accounts.filter(({ account }) => !asked.has(bucketOfAccount(account)));
  const first = untouched[0];
  const second = untouched.find(
    (other) => first && other !== first && bucketOfAccount(other.account) === bucketOfAccount(first.account),
  );
  if (!first || !second) throw new Error('no two accounts in one bucket');
  await mustAdmit(one, admitEntry(one.clock, [first.digest]));
  await mustAdmit(one, admitEntry(one.clock, [second.digest]));
  expect(asksOf(first)[0]).toMatchObject({ afterLoss: true });
  expect(asksOf(second)[0]).toMatchObject({ afterLoss: false });
});

test('a key that its owner no longer knows gets invalid_api_key and is evicted', async () => {
  const account = makeAccount(world, { wallet: PRICE });
  account.state.keys.clear();
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({
    kind: 'refused',
    code: 'invalid_api_key',
  });
  expect(await one.limitStore.routes([account.digest])).toEqual([null]);
});

// Covers r11
test('a load is written only under its own epoch and within five seconds', async () => {
  const account = makeAccount(world, { wallet: 3 * PRICE });
  const { epoch } = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const keys = findBucketKeys(bucketOfAccount(account.account));
  const snapshot = { account: account.account, rows: [{ name: 'wallet', value: 9, version: 9 }], closed: [] };
  const write = async (under: string, startedAt: number) => {
    const stamp = { epoch: under, startedAt, complete: false, caughtUp: false, version: null };
    const [reply] = await one.limitStore.run([buildApplyCall(keys, { account: account.account, snapshot }, stamp)]);
    return Array.isArray(reply) ? reply[0] : reply;
  };
  expect(await write(`${epoch}x`, one.clock.now())).toBe('void');
  expect(await write(epoch, one.clock.now() - 5_100)).toBe('void');
  expect((await one.admission.readAccount(account.account)).rows['wallet']).toEqual({ value: 3 * PRICE, version: 1 });
  expect(await write(epoch, one.clock.now() - 4_000)).toBe('applied');
  expect((await one.admission.readAccount(account.account)).rows['wallet']).toEqual({ value: 9, version: 9 });
});

test("a load creates balances only if it is not older than the account's load", async () => {
  const account = makeAccount(world, { wallet: PRICE });
  account.state.rows.set('wallet', { value: 3 * PRICE, version: 7 });
  const { epoch } = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const write = async (name: string, version: number) => {
    const rows = [
      { name, value: PRICE, version: 5 },
      { name: 'wallet', value: 2 * PRICE, version: version + 1 },
    ];
    const update = { account: account.account, snapshot: { account: account.account, rows, closed: [] } };
    const stamp = { epoch, startedAt: one.clock.now(), complete: false, caughtUp: false, version };
    await one.limitStore.run([buildApplyCall(findBucketKeys(bucketOfAccount(account.account)), update, stamp)]);
    return (await one.admission.readAccount(account.account)).rows;
  };
  expect(await write('km:less:2026-11', 6)).toEqual({ wallet: { value: 3 * PRICE, version: 7 } });
  expect(await write('km:more:2026-11', 7)).toEqual({
    wallet: { value: 2 * PRICE, version: 8 },
    'km:more:2026-11': { value: PRICE, version: 5 },
  });
});

test('a load never overwrites a newer balance that was applied during the load', async () => {
  const account = makeAccount(world, { wallet: 3 * PRICE });
  await one.admission.applySnapshots({
    ledgerEpoch: testEpoch(1),
    accounts: [{ account: account.account, rows: [{ name: 'wallet', value: PRICE, version: 7 }], closed: [] }],
  });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  expect((await one.admission.readAccount(account.account)).rows['wallet']).toEqual({ value: PRICE, version: 7 });
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({
    kind: 'refused',
    code: 'insufficient_credits',
  });
});

test('a month that began before the load is loaded, and a later one starts at 0', async () => {
  const account = makeAccount(world, { wallet: 100 * PRICE, key: { capNanoUsd: 5 * PRICE } });
  const month = monthOf(one.clock.now());
  account.state.rows.set(keyMonthRow(account.key, month), { value: 4 * PRICE, version: 1 });
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({ kind: 'admitted' });
  expect(asksOf(account).at(-1)?.names).toEqual([keyMonthRow(account.key, month)]);
  const refused = await admit(one, admitEntry(one.clock, [account.digest]));
  expect(refused).toMatchObject({
    code: 'monthly_spend_cap_exceeded',
    facts: { limit: 5 * PRICE, used: 4 * PRICE, held: PRICE, worst: PRICE },
  });
  const asked = asksOf(account).length;
  world.advance(32 * 86_400_000);
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({ kind: 'admitted' });
  expect(asksOf(account)).toHaveLength(asked);
});

// Covers r17
test('a restored ledger with another epoch is queried again', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  account.state.rows.set('wallet', { value: 10 * PRICE, version: 50 });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  account.state.ledgerEpoch = testEpoch(2);
  account.state.rows.set('wallet', { value: 2 * PRICE, version: 3 });
  const snapshot = { account: account.account, rows: [], closed: [] };
  await one.admission.applySnapshots({ ledgerEpoch: testEpoch(2), accounts: [snapshot] });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  expect((await one.admission.readAccount(account.account)).rows['wallet']).toEqual({ value: 2 * PRICE, version: 3 });
  account.state.ledgerEpoch = testEpoch(1);
});

// Covers r17
test('lost terms are not used after their version is reused', async () => {
  const account = makeAccount(world, { wallet: 100 * PRICE });
  const two = await world.replica();
  const three = await world.replica();
  account.state.terms = { value: { ...NO_PLAN, requestsPerMinute: 1_000 }, version: 2 };
  for (const replica of [one, two]) await mustAdmit(replica, admitEntry(replica.clock, [account.digest]));
  account.state.ledgerEpoch = testEpoch(3);
  account.state.terms = { value: { ...NO_PLAN, requestsPerMinute: 0 }, version: 2 };
  const snapshot = { account: account.account, rows: [], closed: [] };
  await one.admission.applySnapshots({ ledgerEpoch: testEpoch(3), accounts: [snapshot] });
  for (const replica of [three, two, one]) {
    expect(await admit(replica, admitEntry(replica.clock, [account.digest]))).toMatchObject({
      code: 'rate_limited',
    });
  }
});

test('an expired text of terms from another release is restored by a load', async () => {
  const account = makeAccount(world, { wallet: 100 * PRICE });
  account.state.terms = { value: { ...NO_PLAN, requestsPerMinute: 1_000 }, version: 2 };
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const keys = findBucketKeys(bucketOfAccount(account.account));
  const [accountKey = ''] = listAccountKeys(keys, account.account).filter((key) => key.includes('a:'));
  const redis = new Redis(world.server.url);
  expect(await redis.hexists(accountKey, 'tt')).toBe(1);
  await redis.hset(accountKey, 'tt', 'another-form');
  await redis.quit();
  const two = await world.replica();
  await mustAdmit(two, admitEntry(two.clock, [account.digest]));
});

test('an unknown digest is queried once by all replicas until its entry expires', async () => {
  const two = await world.replica();
  const unknown = 'e'.repeat(64);
  const before = world.owners.asked.find;
  for (const replica of [one, two, one, two])
    expect(await admit(replica, admitEntry(replica.clock, [unknown]))).toMatchObject({
      kind: 'refused',
      code: 'invalid_api_key',
    });
  expect(world.owners.asked.find - before).toBe(1);
  await one.limitStore.dropRoute(unknown);
  await admit(two, admitEntry(two.clock, [unknown]));
  expect(world.owners.asked.find - before).toBe(2);
});

test('an unknown digest is queried again together with a new one', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const unknown = 'd'.repeat(64);
  await admit(one, admitEntry(one.clock, [unknown]));
  await mustAdmit(one, admitEntry(one.clock, [unknown, account.digest]));
});

test('a key with a digest that was unknown before works at once at every replica', async () => {
  const account = makeAccount(world, { wallet: 100 * PRICE });
  const two = await world.replica();
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const rotated = 'c'.repeat(64);
  for (const replica of [one, two])
    expect(await admit(replica, admitEntry(replica.clock, [rotated]))).toMatchObject({
      kind: 'refused',
      code: 'invalid_api_key',
    });
  world.owners.digests.delete(account.digest);
  world.owners.digests.set(rotated, { account: account.account, key: account.key });
  await two.admission.apply({ keys: [{ ...account.keyRecord(), digest: rotated, version: 2 }] });
  for (const replica of [one, two]) await mustAdmit(replica, admitEntry(replica.clock, [rotated]));
  expect(await admit(two, admitEntry(two.clock, [account.digest]))).toMatchObject({
    kind: 'refused',
    code: 'invalid_api_key',
  });
});

test('an earlier answer of accounts does not hide a newer key reference', async () => {
  const account = makeAccount(world, { wallet: 100 * PRICE });
  const rotated = 'b'.repeat(64);
  const two = await world.replica();
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  await two.admission.apply({ keys: [{ ...account.keyRecord(), digest: rotated, version: 2 }] });
  await one.limitStore.setMisses([rotated]);
  await mustAdmit(one, admitEntry(one.clock, [rotated]));
});
