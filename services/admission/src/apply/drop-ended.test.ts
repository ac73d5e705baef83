import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bucketOfAccount } from '@gateway/contracts/ids';
import type { VersionedBalance } from '@gateway/contracts/messages';
import { keyMonthRow, memberMonthRow, monthOf, sessionWindowRow, weekStart, weeklyWindowRow } from '@gateway/metering';
import { testEpoch } from '@gateway/testkit/random';
import { Redis } from 'ioredis';
import { PRICE, admit, admitEntry, batch, makeAccount, makeWorld, mustAdmit, release } from '../../test/world.js';
import type { Replica, TestAccount, World } from '../../test/world.js';
import { findBucketKeys } from '../limit-store/key-rules.js';

const DAY = 86_400_000;
const DAYS = 120;
const START = Date.parse('2027-12-30T12:00:00.000Z');

let world: World;
let one: Replica;
let redis: Redis;

beforeAll(async () => {
  world = await makeWorld({ frozenAt: START });
  one = await world.replica();
  redis = new Redis(world.server.url);
});
afterAll(async () => {
  redis.disconnect();
  await world.stop();
});

const keyOf = ({ account }: TestAccount) => findBucketKeys(bucketOfAccount(account)).accounts + account;

/** Publishes these balances as written by billing. */
async function settle({ account, state }: TestAccount, values: Record<string, number>, closed: string[] = []) {
  const version = Math.max(1, ...[...state.rows.values()].map((row) => row.version)) + 1;
  const rows = Object.entries(values).map(([name, value]) => ({ name, value, version }));
  for (const row of rows) state.rows.set(row.name, row);
  await tell(account, rows, closed);
}

const tell = (account: string, rows: VersionedBalance[], closed: string[] = []) =>
  one.admission.applySnapshots({ ledgerEpoch: testEpoch(1), accounts: [{ account, rows, closed }] });

test('an account has as many fields after many periods as after a few', async () => {
  world.setTime(START);
  const windows = (['session_5h', 'weekly'] as const).flatMap((type) =>
    (['usd', 'requests'] as const).map((unit) => ({ type, unit, limit: 1_000 * PRICE, label: type })),
  );
  const subscription = { id: 'period-1', start: START - DAY, end: START + 1_000 * DAY };
  const plan = { id: 'pro', name: 'Pro', tier: 'pro' };
  const account = makeAccount(world, { wallet: PRICE, terms: { plan, windows, subscription, models: null } });
  const counts: number[] = [];
  for (let day = 0; day < DAYS; day += 1) {
    world.setTime(START + day * DAY);
    const now = one.clock.now();
    const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
    await batch(one, { releases: [release(call, 'ok', PRICE)] });
    const month = monthOf(now);
    const windowRows = (['usd', 'requests'] as const).flatMap((unit) => [
      [sessionWindowRow(unit, call.hold.periods.session5h ?? 0), 1],
      [weeklyWindowRow(unit, weekStart(now)), day % 7],
    ]);
    const months = { [keyMonthRow(account.key, month)]: day, [memberMonthRow(account.member, month)]: day };
    await settle(account, { ...months, ...Object.fromEntries(windowRows) }, [call.id]);
    counts.push(await redis.hlen(keyOf(account)));
  }
  const [earlier, later] = [counts.slice(0, DAYS / 2), counts.slice(DAYS / 2)];
  expect(Math.max(...later)).toBeLessThanOrEqual(Math.max(...earlier));
  expect(Math.max(...earlier)).toBeLessThan(50);
});

// Covers r13
test('a deleted balance is loaded again without loss of a late charge', async () => {
  world.setTime(START);
  const cap = 5 * PRICE;
  const account = makeAccount(world, { wallet: 1_000 * PRICE, key: { capNanoUsd: cap } });
  const january = keyMonthRow(account.key, '2028-01');
  const february = keyMonthRow(account.key, '2028-02');
  const field = (name: string) => redis.hget(keyOf(account), name);
  const first = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  await batch(one, { releases: [release(first, 'void')] });
  await settle(account, { [january]: PRICE });
  const early = { name: january, value: PRICE, version: Number(await field(`u:${january}`)) };
  await settle(account, { [january]: cap });
  world.setTime(Date.parse('2028-02-02T00:00:00.000Z'));
  await settle(account, { [february]: PRICE });
  expect([await field(`v:${january}`), await field(`u:${january}`)]).toEqual([null, null]);
  expect(await field(`v:${february}`)).toBe(String(PRICE));
  await tell(account.account, [early]);
  expect(await field(`v:${january}`)).toBeNull();
  // A server with a slow clock takes over.
  world.setTime(Date.parse('2028-01-31T23:00:00.000Z'));
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({
    kind: 'refused',
    code: 'monthly_spend_cap_exceeded',
  });
  expect(await field(`v:${january}`)).toBe(String(cap));
  world.setTime(Date.parse('2028-02-04T00:00:00.000Z'));
  await settle(account, { [february]: 2 * PRICE });
  expect(await field(`v:${january}`)).toBeNull();
  await settle(account, { [january]: cap + PRICE });
  expect(await field(`v:${january}`)).toBe(String(cap + PRICE));
});
