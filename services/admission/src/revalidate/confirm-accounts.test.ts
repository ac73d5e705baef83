import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bucketOfAccount } from '@gateway/contracts/ids';
import { recordingLog, until } from '@gateway/testkit';
import { testEpoch } from '@gateway/testkit/random';
import { Redis } from 'ioredis';
import { buildConfirmCall, buildSummaryCall, readSummaryReply } from './confirm-script.js';
import type { KeptGroup } from './confirm-script.js';
import { findBucketKeys } from '../limit-store/key-rules.js';
import { PRICE, admit, admitEntry, makeAccount, makeWorld, mustAdmit, release, batch } from '../../test/world.js';
import type { Replica, TestAccount, World } from '../../test/world.js';
import { Revalidation } from './revalidation.js';

const WALLET = 100 * PRICE;
/** Age of the session in these tests. */
const MINUTE_MS = 60_000;

let world: World;
let one: Replica;
let redis: Redis;

beforeAll(async () => {
  world = await makeWorld();
  one = await world.replica();
  redis = new Redis(world.server.url);
});
afterAll(async () => {
  redis.disconnect();
  await world.stop();
});

const keysOf = ({ account }: TestAccount) => findBucketKeys(bucketOfAccount(account));

/** The bucket loses its epoch and keeps all other data, like in a promoted replica. */
async function loseEpoch(account: TestAccount): Promise<void> {
  await redis.del(keysOf(account).epoch);
  await one.admission.sweep();
  await until('its bucket is open', () => one.admission.bucketsPending() === 0);
}

/** Counts the load and confirmation requests that an action causes. */
async function asksOf(work: () => Promise<unknown>): Promise<{ loads: number; unchanged: number }> {
  const { asked } = world.owners;
  const [loads, unchanged] = [asked.loadAccount + asked.loadBalances.length, asked.unchanged];
  await work();
  return { loads: asked.loadAccount + asked.loadBalances.length - loads, unchanged: asked.unchanged - unchanged };
}

async function loaded(options: Parameters<typeof makeAccount>[1] = {}): Promise<TestAccount> {
  const account = makeAccount(world, { wallet: WALLET, ...options });
  await end(account);
  return account;
}

/** Makes and ends a call that costs nothing. */
async function end(account: TestAccount): Promise<void> {
  const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  await batch(one, { releases: [release(call, 'void')] });
}

async function summaryOf({ account }: TestAccount): Promise<KeptGroup> {
  const bucket = bucketOfAccount(account);
  const [reply] = await one.limitStore.run([buildSummaryCall(bucket, [account])]);
  const group = readSummaryReply(bucket, [account], reply as string[]);
  if (group === null) throw new Error('its bucket is lost');
  return group;
}

const confirm = async (group: KeptGroup, version = 1, ledgerEpoch = testEpoch(1)) => {
  const versions = new Map(group.kept.map(({ account }) => [account, version]));
  return (await one.limitStore.run([buildConfirmCall(group, ledgerEpoch, versions)]))[0];
};

/** Sets another epoch without a scan of the bucket's accounts. */
async function replaceEpoch(account: TestAccount): Promise<void> {
  const { epoch: key } = keysOf(account);
  const [epoch = '', ...state] = (await redis.get(key))?.split(' ') ?? [];
  await redis.set(key, [`${epoch.slice(0, -1)}${epoch.endsWith('0') ? '1' : '0'}`, ...state].join(' '));
}

test('a kept account is confirmed and its next call needs no load', async () => {
  const account = await loaded({ key: { capNanoUsd: 50 * PRICE }, memberCap: 60 * PRICE });
  const before = await one.admission.readAccount(account.account);
  expect(await asksOf(() => loseEpoch(account).then(() => one.admission.revalidated()))).toEqual({
    loads: 0,
    unchanged: 2,
  });
  expect(await asksOf(() => end(account))).toEqual({ loads: 0, unchanged: 0 });
  expect((await one.admission.readAccount(account.account)).rows).toEqual(before.rows);
});

// Covers r12
test.each<[string, (account: TestAccount) => void, object]>([
  ['its wallet', ({ state }) => state.rows.set('wallet', { value: 0, version: 2 }), { code: 'no_funding' }],
  [
    'its terms',
    ({ state }) => void (state.terms = { value: { ...state.terms.value, concurrency: 0 }, version: 2 }),
    { code: 'concurrency_limit' },
  ],
  ['its state', ({ state }) => Object.assign(state, { state: 'suspended', version: 2 }), { code: 'account_suspended' }],
  ['its key, which is revoked', (account) => account.changeKey({ state: 'revoked' }), { code: 'key_inactive' }],
  [
    'the cap of its member',
    ({ account, member, state }) => state.members.set(member, { account, member, capNanoUsd: PRICE - 1, version: 2 }),
    { code: 'member_cap_reached' },
  ],
  [
    'a session, which has begun',
    ({ state }) => state.rows.set(`w:session_5h:usd:${one.clock.now() - MINUTE_MS}`, { value: 5, version: 2 }),
    { kind: 'admitted' },
  ],
])('an account is loaded again after a change of %s', async (_what, change, answer) => {
  const account = await loaded();
  change(account);
  await loseEpoch(account);
  await one.admission.revalidated();
  const asked = await asksOf(async () =>
    expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject(answer),
  );
  expect(asked.loads).toBeGreaterThan(0);
});

// Covers r12
test('a key that is revoked while its account is being confirmed stays revoked', async () => {
  const account = await loaded();
  await replaceEpoch(account);
  const kept = await summaryOf(account);
  await one.admission.apply({ keys: [account.changeKey({ state: 'revoked' })] });
  expect(await confirm(kept)).toContain('changed');
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({ code: 'key_inactive' });
  // The same if the change arrives after the confirmation.
  const other = await loaded();
  await replaceEpoch(other);
  expect(await confirm(await summaryOf(other))).toContain('confirmed');
  await one.admission.apply({ keys: [other.changeKey({ state: 'revoked' })] });
  expect(await admit(one, admitEntry(one.clock, [other.digest]))).toMatchObject({ code: 'key_inactive' });
});

test('a key that was never loaded is not confirmed: its member may be missing', async () => {
  const account = await loaded();
  const key = { ...account.keyRecord(), key: `${account.key}-2`, digest: 'ab'.repeat(32) };
  account.state.keys.set(key.key, key);
  await one.admission.apply({ keys: [key] });
  await replaceEpoch(account);
  const kept = await summaryOf(account);
  expect(kept.kept[0]?.records.keys).toEqual([{ id: account.key, version: 1 }]);
  await confirm(kept);
  expect(await redis.hget(keysOf(account).accounts + account.account, `k:${key.key}`)).toBe('- 1');
});

test('only recent summaries of the same epoch and ledger are confirmed', async () => {
  const account = await loaded();
  await replaceEpoch(account);
  const kept = await summaryOf(account);
  const read = () => redis.hgetall(keysOf(account).accounts + account.account);
  const before = await read();
  expect(await confirm({ ...kept, startedAt: kept.startedAt - 5_100 })).toContain('void');
  expect(await confirm({ ...kept, epoch: `${kept.epoch}x` })).toContain('void');
  expect(await confirm(kept, 1, testEpoch(2))).toContain('changed');
  expect(await read()).toEqual(before);
  expect(await confirm(kept, 7)).toContain('confirmed');
  const mark = kept.epoch.slice(-12);
  expect(await read()).toEqual({
    ...before,
    t: mark,
    at: String(kept.startedAt),
    lv: '7',
    [`k:${account.key}`]: `${mark} 1`,
  });
  expect(await redis.get(keysOf(account).epoch)).toMatch(/ 1$/);
  expect(await summaryOf(account)).toMatchObject({ kept: [] });
});

test('an account with a newer snapshot is not confirmed', async () => {
  const account = await loaded();
  await replaceEpoch(account);
  const kept = await summaryOf(account);
  const rows = [{ name: `km:${account.key}:2026-11`, value: 1, version: 2 }];
  await one.admission.applySnapshots({
    ledgerEpoch: testEpoch(1),
    accounts: [{ account: account.account, rows, closed: [] }],
  });
  expect(await confirm(kept)).toContain('changed');
  expect(await summaryOf(account)).toMatchObject({ kept: [], large: 0 });
});

test('a late message older than the confirmed version creates no balance', async () => {
  const account = await loaded();
  await replaceEpoch(account);
  expect(await confirm(await summaryOf(account), 30)).toContain('confirmed');
  const name = `km:${account.key}:2026-11`;
  const tell = (version: number) =>
    one.admission.applySnapshots({
      ledgerEpoch: testEpoch(1),
      accounts: [{ account: account.account, rows: [{ name, value: version, version }], closed: [] }],
    });
  await tell(20);
  expect((await one.admission.readAccount(account.account)).rows).not.toHaveProperty(name);
  await tell(31);
  expect((await one.admission.readAccount(account.account)).rows[name]).toEqual({ value: 31, version: 31 });
});

test('an account with too many parts is loaded at its first call', async () => {
  const account = await loaded();
  const parts = Array.from({ length: 200 }, (_unused, index) => [`k:key-${index}`, '- 1']);
  await redis.hset(keysOf(account).accounts + account.account, ...parts.flat());
  await replaceEpoch(account);
  expect(await summaryOf(account)).toMatchObject({ kept: [], large: 1 });
  await loseEpoch(account);
  await one.admission.revalidated();
  expect((await asksOf(() => end(account))).loads).toBeGreaterThan(0);
});

test('an unresponsive owner is retried a limited number of times and logged once', async () => {
  const log = recordingLog();
  const tries = { attemptsMax: 3, baseMs: 1, maxMs: 1, random: () => 0 };
  const revalidation = new Revalidation({ ...one.ports, log }, tries);
  const account = await loaded();
  await replaceEpoch(account);
  world.owners.billingDown = true;
  const asked = await asksOf(async () => {
    revalidation.opened([bucketOfAccount(account.account)]);
    await revalidation.idle();
  });
  world.owners.billingDown = false;
  expect(asked.unchanged).toBe(6);
  expect(log.lines.map(({ text }) => text)).toEqual(['kept accounts were not all confirmed']);
  revalidation.opened([bucketOfAccount(account.account)]);
  await revalidation.idle();
  expect(log.lines.at(-1)).toMatchObject({ text: 'kept accounts were confirmed', facts: { changed: 0, left: 0 } });
  expect(await asksOf(() => end(account))).toEqual({ loads: 0, unchanged: 0 });
  await revalidation.stop();
});
