import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bucketOfAccount } from '@gateway/contracts/ids';
import { keyMonthRow, monthOf } from '@gateway/metering';
import { until } from '@gateway/testkit';
import { Redis } from 'ioredis';
import { findBucketKeys } from '../limit-store/key-rules.js';
import type { StartedAdmission } from '../service.js';
import { makeBusWorld } from '../../test/bus-world.js';
import type { BusWorld } from '../../test/bus-world.js';
import {
  PRICE,
  admit,
  admitEntry,
  batch,
  decide,
  makeAccount,
  makeOwners,
  mustAdmit,
  ownersOf,
  release,
} from '../../test/world.js';
import type { TestAccount } from '../../test/world.js';

const ACCOUNTS = 300;
const WALLET = 5 * PRICE;
const RECOVERY_MAX_MS = 30_000;
const TEST_MS = 120_000;

const owners = makeOwners();
let world: BusWorld;
let replicas: StartedAdmission[];
let redis: Redis;

beforeAll(async () => {
  // It kills Redis.
  world = await makeBusWorld(ownersOf(owners), { own: true });
  await world.publishCatalog(1);
  const started = [await world.start('one'), await world.start('two')];
  await until('both are ready', () => started.every(({ ready }) => ready.report().ready));
  replicas = started;
  redis = new Redis(world.redis.url);
  redis.on('error', () => undefined);
}, TEST_MS);
afterAll(async () => {
  redis.disconnect();
  await world.stop();
});

const asksOf = () => ({
  loads: owners.asked.loadBalances.map(({ account }) => account),
  records: owners.asked.loadAccount,
});

/** Makes one call that billing settles. */
async function call(account: TestAccount): Promise<void> {
  const { admission, clock } = replicas[0]!;
  const admitted = await mustAdmit({ admission }, admitEntry(clock, [account.digest]));
  await batch({ admission }, { releases: [release(admitted, 'ok', PRICE)] });
  await settle(account, admitted.id);
}

/** Writes the charge of one call in billing and publishes it. */
async function settle({ account, key, state }: TestAccount, id: string): Promise<void> {
  const month = keyMonthRow(key, monthOf(replicas[0]!.clock.now()));
  const [wallet, used] = [state.rows.get('wallet'), state.rows.get(month)];
  const version = Math.max(wallet?.version ?? 0, used?.version ?? 0) + 1;
  state.rows.set('wallet', { value: (wallet?.value ?? 0) - PRICE, version });
  state.rows.set(month, { value: (used?.value ?? 0) + PRICE, version });
  state.records.add(id);
  const rows = ['wallet', month].map((name) => ({ name, ...state.rows.get(name)! }));
  await replicas[0]!.admission.applySnapshots({
    ledgerEpoch: state.ledgerEpoch,
    accounts: [{ account, rows, closed: [id] }],
  });
}

/** Counts the calls that an account can make until it is refused for insufficient funds. */
async function callsLeft({ admission, clock }: StartedAdmission, account: TestAccount): Promise<number> {
  for (let calls = 0; ; calls += 1) {
    const answer = await decide({ admission }, admitEntry(clock, [account.digest]));
    if (answer.kind === 'admitted') continue;
    expect(answer).toMatchObject({ code: 'insufficient_credits' });
    return calls;
  }
}

// Covers r12
test(
  'unchanged accounts need no load after a restart of Redis from its file',
  async () => {
    const accounts = Array.from({ length: ACCOUNTS }, () =>
      makeAccount({ owners }, { wallet: WALLET, key: { capNanoUsd: 1_000 * PRICE } }),
    );
    for (const account of accounts) await call(account);
    await redis.save();
    const [charged, revoked, ...unchanged] = accounts as [TestAccount, TestAccount, ...TestAccount[]];
    // Changes that the file lacks: a charge and a revoked key.
    await call(charged);
    await replicas[1]!.admission.apply({ keys: [revoked.changeKey({ state: 'revoked' })] });
    await world.redis.restart!({ kill: true });
    const probe = makeAccount({ owners }, { wallet: 1_000 * PRICE });
    for (const { admission, clock } of replicas) {
      const decides = async () => (await admit({ admission }, admitEntry(clock, [probe.digest]))).kind === 'admitted';
      await until('the replica decides again', decides, RECOVERY_MAX_MS);
      await until('it knows of no lost bucket', () => admission.bucketsPending() === 0, RECOVERY_MAX_MS);
    }
    for (const { admission } of replicas) await admission.revalidated();

    const before = asksOf();
    for (const account of unchanged.slice(0, 20)) expect(await callsLeft(replicas[1]!, account)).toBe(4);
    const { admission, clock } = replicas[0]!;
    for (const account of unchanged.slice(20)) await mustAdmit({ admission }, admitEntry(clock, [account.digest]));
    expect(asksOf()).toEqual(before);
    for (const { account, state } of unchanged)
      expect((await admission.readAccount(account)).rows).toEqual(Object.fromEntries(state.rows));

    expect(await callsLeft(replicas[1]!, charged)).toBe(3);
    expect(await decide({ admission }, admitEntry(clock, [revoked.digest]))).toMatchObject({
      code: 'key_inactive',
    });
    const loads = asksOf().loads.slice(before.loads.length);
    expect(new Set(loads)).toEqual(new Set([charged.account, revoked.account]));
    // The confirmation also records for later loads in its bucket that billing has caught up.
    const epoch = await redis.get(findBucketKeys(bucketOfAccount(unchanged[0]!.account)).epoch);
    expect(epoch).toMatch(/ 1$/);
  },
  TEST_MS,
);
