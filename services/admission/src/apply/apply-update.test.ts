import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@gateway/testkit';
import { testEpoch } from '@gateway/testkit/random';
import { Redis } from 'ioredis';
import { NO_PLAN, PRICE, admit, admitEntry, heartbeatOf, makeAccount, makeWorld, mustAdmit } from '../../test/world.js';
import type { Replica, TestAccount, World } from '../../test/world.js';

let world: World;
let one: Replica;

beforeAll(async () => {
  world = await makeWorld();
  one = await world.replica();
});
afterAll(() => world.stop());

const walletUpdate = (account: TestAccount, value: number, version: number, closed: string[] = []) => ({
  ledgerEpoch: testEpoch(1),
  accounts: [{ account: account.account, rows: [{ name: 'wallet', value, version }], closed }],
});

// Covers r8
test('balances are applied by their own version in any order of arrival', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  await one.admission.applySnapshots(walletUpdate(account, 7 * PRICE, 5));
  await one.admission.applySnapshots(walletUpdate(account, 9 * PRICE, 3));
  await one.admission.applySnapshots(walletUpdate(account, 8 * PRICE, 5));
  expect((await one.admission.readAccount(account.account)).rows['wallet']).toEqual({ value: 7 * PRICE, version: 5 });
});

// Covers r8
test('a snapshot that has passed an older one is written after it', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const two = await world.replica();
  const first = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const second = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const balance = async () => {
    // Runs in one message to Redis with the first attempt of a snapshot, after it.
    await one.admission.held({ account: account.account });
    const { rows, held } = await one.admission.readAccount(account.account);
    return (rows['wallet']?.value ?? 0) - (held['wallet'] ?? 0);
  };
  const passed = one.admission.applySnapshots(walletUpdate(account, 8 * PRICE, 3, [second.id]), 1_000);
  expect(await balance()).toBe(8 * PRICE);
  await two.admission.applySnapshots(walletUpdate(account, 9 * PRICE, 2, [first.id]), 1_000);
  expect(await balance()).toBe(8 * PRICE);
  await passed;
  expect(await one.admission.readAccount(account.account)).toMatchObject({
    held: {},
    rows: { wallet: { value: 8 * PRICE, version: 3 } },
  });
});

test('a snapshot is written after its last pause if the one before it is lost', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const wallet = async () => {
    await one.admission.held({ account: account.account });
    return (await one.admission.readAccount(account.account)).rows['wallet'];
  };
  await one.admission.applySnapshots(walletUpdate(account, 7 * PRICE, 4), 1);
  expect(await wallet()).toEqual({ value: 7 * PRICE, version: 4 });
  // The next one skips no version that is still to come.
  const next = one.admission.applySnapshots(walletUpdate(account, 6 * PRICE, 5), 1_000);
  expect(await wallet()).toEqual({ value: 6 * PRICE, version: 5 });
  await next;
});

test('a message of an earlier ledger epoch has no effect', async () => {
  const [later, earlier] = [testEpoch(3), '00000000-0002-7fff-bfff-ffffffffffff'];
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const { id } = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const told = (ledgerEpoch: string, value: number, version: number, closed: string[] = []) =>
    one.admission.applySnapshots({ ...walletUpdate(account, value, version, closed), ledgerEpoch });
  await told(later, 3 * PRICE, 2);
  await expect(told(earlier, 9 * PRICE, 7, [id])).rejects.toThrow('its ledger has a later epoch');
  await told(later, 2 * PRICE, 3);
  expect(await one.admission.readAccount(account.account)).toMatchObject({
    slots: 1,
    rows: { wallet: { value: 2 * PRICE, version: 3 } },
  });
});

test('a full snapshot is applied, and the newer of two versions of a balance counts', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const rows = Array.from({ length: 1_998 }, (_unused, n) => ({ name: `km:key_${n}:2026-11`, value: n, version: 2 }));
  const wallet = (value: number, version: number) => ({ name: 'wallet', value, version });
  const twice = [wallet(3 * PRICE, 4), ...rows, wallet(4 * PRICE, 3)];
  const snapshot = { ledgerEpoch: testEpoch(1), accounts: [{ account: account.account, rows: twice, closed: [] }] };
  await one.admission.applySnapshots(snapshot);
  const dump = await one.admission.readAccount(account.account);
  expect(Object.keys(dump.rows)).toHaveLength(1_999);
  expect(dump.rows).toMatchObject({
    wallet: { value: 3 * PRICE, version: 4 },
    'km:key_1997:2026-11': { value: 1_997, version: 2 },
  });
});

test('an old balance snapshot still closes its IDs', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const admitted = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  await one.admission.applySnapshots(walletUpdate(account, 5 * PRICE, 9));
  await one.admission.applySnapshots(walletUpdate(account, 9 * PRICE, 2, [admitted.id]));
  expect(await one.admission.readAccount(account.account)).toMatchObject({
    slots: 0,
    held: {},
    rows: { wallet: { value: 5 * PRICE, version: 9 } },
  });
});

test('a balance snapshot of an unloaded account is stored without loading it', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  await one.admission.applySnapshots(walletUpdate(account, 4 * PRICE, 4));
  const dump = await one.admission.readAccount(account.account);
  expect(dump).toMatchObject({ loadedUnder: null, rows: { wallet: { value: 4 * PRICE, version: 4 } } });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
});

test('a late balance snapshot creates no missing balance unless newer than the load', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  account.state.rows.set('wallet', { value: 10 * PRICE, version: 7 });
  const rows = [
    { name: 'km:older:2026-11', value: PRICE, version: 5 },
    { name: 'km:newer:2026-11', value: PRICE, version: 8 },
  ];
  await one.admission.applySnapshots({
    ledgerEpoch: testEpoch(1),
    accounts: [{ account: account.account, rows, closed: [] }],
  });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const dump = await one.admission.readAccount(account.account);
  expect(dump.rows['km:older:2026-11']).toBeUndefined();
  expect(dump.rows['km:newer:2026-11']).toEqual({ value: PRICE, version: 8 });
  const again = rows.map((row) => ({ ...row, name: row.name.replace('er:', 'est:') }));
  await one.admission.applySnapshots({
    ledgerEpoch: testEpoch(1),
    accounts: [{ account: account.account, rows: again, closed: [] }],
  });
  const later = await one.admission.readAccount(account.account);
  expect(later.rows['km:oldest:2026-11']).toBeUndefined();
  expect(later.rows['km:newest:2026-11']).toEqual({ value: PRICE, version: 8 });
});

test('new terms apply to the next call, also at a replica that cached the old ones', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const two = await world.replica();
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  await mustAdmit(two, admitEntry(two.clock, [account.digest]));
  const terms = (concurrency: number, version: number) => ({
    snapshots: {
      ledgerEpoch: testEpoch(1),
      accounts: [
        { account: account.account, rows: [], terms: { value: { ...NO_PLAN, concurrency }, version }, closed: [] },
      ],
    },
  });
  await one.admission.apply(terms(2, 5));
  await one.admission.apply(terms(50, 4));
  for (const replica of [one, two]) {
    expect(await admit(replica, admitEntry(replica.clock, [account.digest]))).toMatchObject({
      code: 'concurrency_limit',
      facts: { limit: 2, used: 2 },
    });
  }
});

test('a member cap applies to the next call', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const member = { account: account.account, member: account.member, capNanoUsd: 2 * PRICE, version: 2 };
  await one.admission.apply({ members: [member] });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({
    code: 'member_cap_reached',
    facts: { limit: 2 * PRICE, used: 0, held: 2 * PRICE, worst: PRICE },
  });
});

test('debt refuses calls until a credit covers it', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  await one.admission.applySnapshots(walletUpdate(account, -3, 2));
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({
    code: 'outstanding_debt',
    facts: { available: -3 },
  });
  await one.admission.applySnapshots(walletUpdate(account, 0, 3));
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({ code: 'no_funding' });
  await one.admission.applySnapshots(walletUpdate(account, 1, 4));
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({
    code: 'insufficient_credits',
    facts: { available: 1 - PRICE, held: PRICE, worst: PRICE },
  });
});

const keyStateOf = async (replica: Replica, account: TestAccount) => {
  const answer = await admit(replica, admitEntry(replica.clock, [account.digest]));
  return answer.kind === 'refused' ? answer.code : answer.kind;
};

test('records of key, account and member are applied by version in any order', async () => {
  const account = makeAccount(world, { wallet: 100 * PRICE });
  const two = await world.replica();
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const keys = (state: 'active' | 'suspended' | 'revoked', version: number) => ({
    keys: [{ ...account.keyRecord(), state, version }],
  });
  await two.admission.apply(keys('suspended', 5));
  await one.admission.apply(keys('active', 3));
  await one.admission.apply(keys('active', 5));
  expect([await keyStateOf(one, account), await keyStateOf(two, account)]).toEqual(['key_inactive', 'key_inactive']);
  await one.admission.apply(keys('active', 6));
  expect([await keyStateOf(one, account), await keyStateOf(two, account)]).toEqual(['admitted', 'admitted']);
  await one.admission.apply(keys('revoked', 8));
  await two.admission.apply(keys('suspended', 7));
  expect(await keyStateOf(two, account)).toBe('key_inactive');
  await two.admission.apply(keys('active', 9));
  const member = (capNanoUsd: number | null, version: number) => ({
    members: [{ account: account.account, member: account.member, capNanoUsd, version }],
  });
  await one.admission.apply(member(1, 4));
  await two.admission.apply(member(null, 3));
  expect(await keyStateOf(one, account)).toBe('member_cap_reached');
  await two.admission.apply(member(null, 5));
  expect(await keyStateOf(one, account)).toBe('admitted');
});

// Covers r10
test('a change before a load is kept if the load has read older records', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const revoked = { ...account.keyRecord(), state: 'revoked' as const, version: 2 };
  await one.admission.apply({ keys: [revoked] });
  // The owner still returns version 1, like for a load that began before the change.
  expect(await keyStateOf(one, account)).toBe('key_inactive');

  const barred = makeAccount(world, { wallet: 10 * PRICE });
  await one.admission.apply({ accounts: [{ account: barred.account, state: 'suspended', version: 2 }] });
  expect(await keyStateOf(one, barred)).toBe('account_suspended');

  const capped = makeAccount(world, { wallet: 10 * PRICE });
  await one.admission.apply({
    members: [{ account: capped.account, member: capped.member, capNanoUsd: 1, version: 2 }],
  });
  expect(await keyStateOf(one, capped)).toBe('member_cap_reached');
});

test('a change during a load is kept', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  let free: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (free = resolve));
  world.owners.delay = () => held;
  const asked = world.owners.asked.find;
  const state = keyStateOf(one, account);
  await until('the load is under way', () => world.owners.asked.find > asked);
  // The owner's answer is read before the change and sent after it.
  await one.admission.apply({ keys: [{ ...account.keyRecord(), state: 'suspended', version: 2 }] });
  world.owners.delay = async () => undefined;
  free();
  expect(await state).toBe('key_inactive');
});

test('a flush of Redis between a change and the load causes another owner query', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  await one.admission.apply({ keys: [account.changeKey({ state: 'revoked' })] });
  const redis = new Redis(world.server.url);
  await redis.flushdb();
  await redis.quit();
  expect(await keyStateOf(one, account)).toBe('fault');
  await one.admission.sweep();
  await until('all buckets are open', () => one.admission.bucketsPending() === 0);
  expect(await keyStateOf(one, account)).toBe('key_inactive');
});

test('a rotated secret gets invalid_api_key at every replica by every look-up path', async () => {
  const account = makeAccount(world, { wallet: 100 * PRICE });
  const two = await world.replica();
  const fresh = await world.replica();
  const old = account.digest;
  // Both replicas have cached the key reference and the record, and Redis has the key reference.
  await mustAdmit(one, admitEntry(one.clock, [old]));
  await mustAdmit(two, admitEntry(two.clock, [old]));
  const next = 'c'.repeat(60) + '0001';
  const rotated = account.changeKey({ digest: next });
  world.owners.digests.delete(old);
  world.owners.digests.set(next, { account: account.account, key: account.key });
  await two.admission.apply({ keys: [rotated] });
  for (const replica of [one, two, fresh]) {
    expect(await admit(replica, admitEntry(replica.clock, [old]))).toMatchObject({
      kind: 'refused',
      code: 'invalid_api_key',
    });
    expect(await admit(replica, admitEntry(replica.clock, [next]))).toMatchObject({ kind: 'admitted' });
    // The two digests of one secret with two peppers belong to the same key. An unknown digest in
    // addition changes nothing.
    expect(await admit(replica, admitEntry(replica.clock, [next, old]))).toMatchObject({ kind: 'admitted' });
    expect(await admit(replica, admitEntry(replica.clock, [old, 'e'.repeat(64)]))).toMatchObject({
      code: 'invalid_api_key',
    });
  }
  // The other replica rotates the key again. The digest that each replica has just cached is
  // refused.
  await one.admission.apply({ keys: [account.changeKey({ digest: 'c'.repeat(60) + '0002' })] });
  for (const replica of [one, two, fresh]) {
    expect(await admit(replica, admitEntry(replica.clock, [next]))).toMatchObject({ code: 'invalid_api_key' });
    expect(await replica.admission.authorize({ id: admitEntry(replica.clock, []).id, digests: [next] })).toMatchObject({
      kind: 'refused',
      code: 'invalid_api_key',
    });
  }
});

// Covers accounts is down
test('a look-up from before a rotation does not admit the old secret', async () => {
  const account = makeAccount(world, { wallet: 100 * PRICE });
  let free: () => void = () => undefined;
  let asked = false;
  const held = new Promise<void>((resolve) => (free = resolve));
  const { find } = one.ports.owners;
  // The owner has read the digest as current. Its answer is slow and arrives after the rotation.
  one.ports.owners.find = async (digests) => {
    const found = await find(digests);
    asked = true;
    await held;
    return found;
  };
  const call = admit(one, admitEntry(one.clock, [account.digest]));
  await until('the owner has answered', () => asked);
  const rotated = account.changeKey({ digest: 'c'.repeat(60) + '0003' });
  world.owners.digests.delete(account.digest);
  await one.admission.apply({ keys: [rotated] });
  free();
  expect(await call).toMatchObject({ kind: 'refused', code: 'invalid_api_key' });
  one.ports.owners.find = find;
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({
    kind: 'refused',
    code: 'invalid_api_key',
  });
});

test('a heartbeat ends the calls of a suspended account, not of a reinstated one', async () => {
  const account = makeAccount(world, { wallet: 10 * PRICE });
  const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const running = { id: call.id, hold: call.hold, callEpoch: call.epoch, endpoint: '/v1/messages' as const };
  const abortsAt = async (n: number) => {
    await one.admission.heartbeat(heartbeatOf(world, 'edge-applied', n, { calls: [running] }));
    return world.heartbeatReplies.filter(({ edge }) => edge === 'edge-applied').at(-1)?.heartbeatReply.abort;
  };
  const state = (to: 'active' | 'suspended', version: number) =>
    one.admission.apply({ accounts: [{ account: account.account, state: to, version }] });
  await state('suspended', 5);
  await state('active', 4);
  expect(await abortsAt(1)).toEqual([call.id]);
  await state('active', 6);
  expect(await abortsAt(2)).toEqual([]);
});
