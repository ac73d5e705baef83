import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountTerms } from '@gateway/contracts/messages';
import {
  SESSION_5H_MS,
  allotmentRow,
  monthlyWindowRow,
  sessionWindowRow,
  weekStart,
  weeklyWindowRow,
} from '@gateway/metering';
import { testEpoch } from '@gateway/testkit/random';
import { buildCatalogView } from './catalog-view-rules.js';
import {
  PRICE,
  admit,
  admitEntry,
  figures,
  makeAccount,
  makeWorld,
  model,
  mustAdmit,
  source,
  requestsWindow,
  usdWindow,
} from '../../test/world.js';
import type { Replica, TestAccount, World, PlanWindow } from '../../test/world.js';

const NOW = Date.parse('2026-11-18T12:30:10Z');
const DAY = 86_400_000;

let world: World;
let one: Replica;
let subscriptions = 0;

beforeAll(async () => {
  world = await makeWorld({ frozenAt: NOW });
  one = await world.replica();
});
beforeEach(() => world.setTime(NOW));
afterAll(() => world.stop());

const subscription = () => {
  subscriptions += 1;
  return { id: `change-${subscriptions}`, start: NOW - DAY, end: NOW + 29 * DAY };
};
const planAccount = (windows: PlanWindow[], allotments: AccountTerms['allotments'] = []) =>
  makeAccount(world, {
    wallet: 0,
    terms: {
      plan: { id: 'pro', name: 'Pro', tier: 'pro' },
      models: null,
      windows,
      allotments,
      subscription: subscription(),
    },
  });
const ask = (account: TestAccount) => admit(one, admitEntry(one.clock, [account.digest]));

/** Changes the account's terms from now on. */
async function change(account: TestAccount, terms: Partial<AccountTerms>): Promise<void> {
  const { state } = account;
  state.terms = { value: { ...state.terms.value, ...terms }, version: state.terms.version + 1 };
  const told = { account: account.account, rows: [], closed: [], terms: state.terms };
  await one.admission.apply({ snapshots: { ledgerEpoch: testEpoch(1), accounts: [told] } });
}

async function settled(account: TestAccount, rows: Record<string, number>, closed: string[]): Promise<void> {
  const version = account.state.terms.version + 10;
  for (const [name, value] of Object.entries(rows)) account.state.rows.set(name, { value, version });
  await one.admission.applySnapshots({
    ledgerEpoch: testEpoch(1),
    accounts: [
      {
        account: account.account,
        rows: Object.entries(rows).map(([name, value]) => ({ name, value, version })),
        closed,
      },
    ],
  });
}

describe('a plan change within a window', () => {
  test('keeps start and use of windows of the same type and unit', async () => {
    const account = planAccount([usdWindow('session_5h', 4 * PRICE), requestsWindow('weekly', 4)]);
    const first = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
    const second = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
    await settled(
      account,
      { [sessionWindowRow('usd', NOW)]: PRICE, [weeklyWindowRow('requests', weekStart(NOW))]: 1 },
      [first.id],
    );
    world.setTime(NOW + 60_000);
    await change(account, { windows: [usdWindow('session_5h', 3 * PRICE), requestsWindow('weekly', 3)] });
    const third = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
    expect(third.hold).toMatchObject({ planMaxNanoUsd: 2 * PRICE, periods: { session5h: NOW } });
    // One settled call, one running call of the old plan, and one of the new plan.
    expect(await ask(account)).toMatchObject({
      code: 'window_exhausted',
      facts: { window: 'weekly', limit: 3, used: 3 },
    });
    await change(account, { windows: [usdWindow('session_5h', PRICE), requestsWindow('weekly', 9)] });
    expect(await ask(account)).toMatchObject({
      code: 'window_exhausted',
      facts: { window: 'session_5h', limit: PRICE, used: PRICE, resetsAt: NOW + SESSION_5H_MS },
    });
    await change(account, { windows: [usdWindow('session_5h', 9 * PRICE), requestsWindow('weekly', 9)] });
    expect(await ask(account)).toMatchObject({ kind: 'admitted', hold: { planMaxNanoUsd: 8 * PRICE } });
    expect(second.hold.periods).toEqual(first.hold.periods);
  });

  test('starts windows of another type or unit at zero', async () => {
    const account = planAccount([usdWindow('weekly', 2 * PRICE)]);
    const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
    await settled(account, { [weeklyWindowRow('usd', weekStart(NOW))]: 2 * PRICE }, [call.id]);
    expect(await ask(account)).toMatchObject({ code: 'window_exhausted' });
    await change(account, {
      windows: [requestsWindow('weekly', 1), usdWindow('session_5h', PRICE), usdWindow('monthly', PRICE)],
    });
    world.setTime(NOW + 1);
    const fresh = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
    expect(fresh.hold).toMatchObject({ planMaxNanoUsd: PRICE, periods: { session5h: NOW + 1 } });
    expect(await ask(account)).toMatchObject({
      code: 'window_exhausted',
      facts: { window: 'weekly', unit: 'requests', used: 1 },
    });
  });

  test('keeps monthly windows and allotments within the same period only', async () => {
    const allotments = [{ model: 'acme/fixed', unit: 'requests' as const, limit: 1 }];
    const account = planAccount([usdWindow('monthly', 2 * PRICE)], allotments);
    const { id, end } = account.state.terms.value.subscription!;
    const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
    await settled(account, { [monthlyWindowRow('usd', id)]: PRICE, [allotmentRow('requests', 'acme/fixed', id)]: 1 }, [
      call.id,
    ]);
    expect(await ask(account)).toMatchObject({
      code: 'model_limit_reached',
      facts: { limit: 1, used: 1, resetsAt: end },
    });
    const more = [{ model: 'acme/fixed', unit: 'requests' as const, limit: 2 }];
    await change(account, { windows: [usdWindow('monthly', 3 * PRICE)], allotments: more });
    expect(await ask(account)).toMatchObject({ kind: 'admitted', hold: { planMaxNanoUsd: 2 * PRICE } });
    expect(await ask(account)).toMatchObject({ code: 'model_limit_reached', facts: { limit: 2, used: 2 } });
    // Allotments in another unit start at zero too.
    await change(account, { allotments: [{ model: 'acme/fixed', unit: 'usd', limit: PRICE }] });
    expect(await ask(account)).toMatchObject({ kind: 'admitted', hold: { allotment: 'usd' } });
    await change(account, { subscription: { ...subscription(), start: NOW }, allotments });
    expect(await ask(account)).toMatchObject({ kind: 'admitted', hold: { planMaxNanoUsd: 3 * PRICE } });
    expect(await ask(account)).toMatchObject({ code: 'model_limit_reached', facts: { limit: 1, used: 1 } });
  });

  test('settles late calls only in the windows of their admission', async () => {
    const account = planAccount([requestsWindow('weekly', 2)]);
    const before = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
    await change(account, { windows: [requestsWindow('monthly', 1)] });
    const after = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
    expect([before.hold.windows, after.hold.windows]).toEqual([
      [{ type: 'weekly', unit: 'requests' }],
      [{ type: 'monthly', unit: 'requests' }],
    ]);
    expect(await ask(account)).toMatchObject({ code: 'window_exhausted', facts: { window: 'monthly', used: 1 } });
  });
});

describe('a price change', () => {
  const CHANGE = NOW + 5_000;
  const priced = (last: number | null) =>
    buildCatalogView(
      [
        model('acme/fixed', {
          prices: [
            { version: 'old', effectiveFrom: 0, figures: figures({ perCall: PRICE }) },
            { version: 'new', effectiveFrom: CHANGE, figures: last === null ? null : figures({ perCall: last }) },
          ],
        }),
      ],
      [source('acme/fixed', {})],
    );

  test('applies from its millisecond on and not to running calls', async () => {
    world.catalog = priced(7 * PRICE);
    const account = makeAccount(world, { wallet: 8 * PRICE });
    world.setTime(CHANGE - 1);
    const entry = admitEntry(one.clock, [account.digest]);
    const running = await mustAdmit(one, entry);
    expect(running).toMatchObject({ price: { version: 'old' }, hold: { priceVersion: 'old', worstNanoUsd: PRICE } });
    world.setTime(CHANGE);
    const next = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
    expect(next).toMatchObject({ price: { version: 'new' }, hold: { priceVersion: 'new', worstNanoUsd: 7 * PRICE } });
    // Its answer was lost. The repeated answer has the price of its admission.
    expect(await mustAdmit(one, entry)).toMatchObject({
      repeated: true,
      price: { version: 'old', figures: { perCall: PRICE } },
      hold: { priceVersion: 'old', worstNanoUsd: PRICE },
    });
    expect((await one.admission.readAccount(account.account)).held).toMatchObject({ wallet: 8 * PRICE });
    expect(await ask(account)).toMatchObject({
      code: 'insufficient_credits',
      facts: { available: 0, held: 8 * PRICE, worst: 7 * PRICE },
    });
  });

  test('to no price stops new calls in that millisecond', async () => {
    world.catalog = priced(null);
    const account = makeAccount(world, { wallet: 8 * PRICE });
    world.setTime(CHANGE - 1);
    expect(await ask(account)).toMatchObject({ kind: 'admitted' });
    world.setTime(CHANGE);
    expect(await ask(account)).toMatchObject({ code: 'model_not_priced' });
  });
});
