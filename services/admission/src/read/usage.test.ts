import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { admissionAuthorize, admissionUsage } from '@gateway/contracts/messages';
import { SESSION_5H_MS, WEEK_MS, monthlyWindowRow, weekStart, weeklyWindowRow } from '@gateway/metering';
import { PRICE, admitEntry, makeAccount, makeWorld, mustAdmit } from '../../test/world.js';
import type { Replica, TestAccount, World } from '../../test/world.js';

let world: World;
let one: Replica;

beforeAll(async () => {
  world = await makeWorld();
  one = await world.replica();
});
afterAll(() => world.stop());

const question = (account: TestAccount) => ({ id: makeUuidV7(one.clock.now()), digests: [account.digest] });

async function usageOf(account: TestAccount) {
  const answer = admissionUsage.answer.parse(await one.admission.usage(question(account)));
  if (answer.kind !== 'usage') throw new Error(JSON.stringify(answer));
  return answer;
}

test('an account without plan and wallet shows neither', async () => {
  const account = makeAccount(world, { wallet: null });
  expect(await usageOf(account)).toMatchObject({
    windows: [],
    walletNanoUsd: null,
    keyCapNanoUsd: null,
    terms: { plan: null },
  });
  const authorized = admissionAuthorize.answer.parse(await one.admission.authorize(question(account)));
  expect(authorized).toMatchObject({ kind: 'authorized', planModels: [], walletAboveZero: false, allowedModels: null });
});

test('windows show settled use and reset, and a session only after its first call', async () => {
  const now = one.clock.now();
  const subscription = { id: 'sub-usage', start: now - 1_000, end: now + 20 * 86_400_000 };
  const account = makeAccount(world, {
    wallet: 3 * PRICE,
    terms: {
      plan: { id: 'pro', name: 'Pro', tier: 'pro' },
      models: null,
      subscription,
      windows: [
        { type: 'session_5h', unit: 'usd', limit: 10 * PRICE, label: 'Session (5 hours)' },
        { type: 'weekly', unit: 'requests', limit: 100, label: 'Weekly' },
        { type: 'monthly', unit: 'usd', limit: 50 * PRICE, label: 'Monthly' },
      ],
    },
  });
  account.state.rows.set(weeklyWindowRow('requests', weekStart(now)), { value: 12, version: 1 });
  account.state.rows.set(monthlyWindowRow('usd', subscription.id), { value: 4 * PRICE, version: 1 });
  const before = await usageOf(account);
  expect(before.windows.map(({ type, used }) => [type, used])).toEqual([
    ['session_5h', 0],
    ['weekly', 12],
    ['monthly', 4 * PRICE],
  ]);
  expect(before.windows.map(({ resetsAt }) => resetsAt)).toEqual([
    before.now + SESSION_5H_MS,
    weekStart(now) + WEEK_MS,
    subscription.end,
  ]);
  const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  world.advance(60_000);
  const after = await usageOf(account);
  expect(after.windows[0]).toMatchObject({ used: 0, resetsAt: call.hold.periods.session5h! + SESSION_5H_MS });
  expect(after.walletNanoUsd).toBe(3 * PRICE);
  const authorized = await one.admission.authorize(question(account));
  expect(authorized).toMatchObject({ kind: 'authorized', planModels: null, walletAboveZero: true });
});

test('key and account are checked and nothing is counted', async () => {
  const account = makeAccount(world, { wallet: PRICE, terms: { requestsPerMinute: 1 } });
  for (let call = 0; call < 3; call += 1) await usageOf(account);
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const unknown = { id: makeUuidV7(one.clock.now()), digests: ['9'.repeat(64)] };
  expect(await one.admission.usage(unknown)).toMatchObject({ kind: 'refused', code: 'invalid_api_key' });
  await one.admission.apply({ keys: [account.changeKey({ state: 'suspended' })] });
  expect(await one.admission.authorize(question(account))).toMatchObject({
    code: 'key_inactive',
    facts: {},
  });
});

test('failed reads give usage_unavailable and failed look-ups give lookup_failed', async () => {
  const account = makeAccount(world, { wallet: PRICE });
  world.owners.billingDown = true;
  expect(await one.admission.usage(question(account))).toMatchObject({ kind: 'fault', code: 'usage_unavailable' });
  expect(await one.admission.authorize(question(account))).toMatchObject({ kind: 'fault', code: 'admission_error' });
  world.owners.billingDown = false;
  world.owners.accountsDown = true;
  const unknown = { id: makeUuidV7(one.clock.now()), digests: ['8'.repeat(64)] };
  expect(await one.admission.usage(unknown)).toMatchObject({ kind: 'fault', code: 'lookup_failed' });
  world.owners.accountsDown = false;
});
