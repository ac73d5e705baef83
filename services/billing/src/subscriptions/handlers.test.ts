import { beforeEach, describe, expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import {
  billingAddWalletEntry,
  billingFunding,
  billingGetLimits,
  billingPutLimits,
  billingWallet,
} from '@gateway/contracts/messages';
import type { SubscriptionView } from '@gateway/contracts/operator';
import { until } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { expectAccepted } from '../../test/accepted.js';
import { AUTHOR, HOUR, OperatorWorld } from '../../test/operator-world.js';
import { CLOCK_DIFFERENCE_MS_MAX as APART } from './period-rules.js';

const world = duringTests(OperatorWorld.start);

beforeEach(() => world.reset());

const iso = (ms: number): string => new Date(ms).toISOString();
const shown = async (account: string): Promise<SubscriptionView> =>
  expectAccepted(await world.getPeriod(account)).subscription;

describe('a subscription', () => {
  test('is in force when answered, shown, put again without a change, and ended', async () => {
    const [account, plan] = [world.fresh('account'), world.fresh('plan')];
    await world.putPlan(plan, { windows: [{ type: 'monthly', unit: 'requests', limit: 5 }], maxActiveKeys: 8 });
    expect(await world.getPeriod(account)).toMatchObject({ refused: { code: 'not_found' } });
    const { change, subscription } = expectAccepted(await world.putPeriod(account, plan, world.now, world.now + HOUR));
    expect(change).toBe('created');
    expect(subscription).toMatchObject({ accountId: account, planId: plan, planVersion: 1, active: true });
    expect(world.lastPublished(account)).toMatchObject({
      plan: { id: plan },
      windows: [{ type: 'monthly', limit: 5 }],
      subscription: { id: subscription.id, start: world.now, end: world.now + HOUR },
    });
    expect(await world.terms(account)).toEqual(world.lastPublished(account));
    expect(await world.getPeriod(account)).toEqual({ subscription });
    expect(await world.accounts.request(billingFunding, { account })).toMatchObject({
      planActive: true,
      activeKeysMax: 8,
    });
    expect(await world.putPeriod(account, plan, world.now, world.now + HOUR)).toEqual({
      change: 'unchanged',
      subscription,
    });
    expect(world.published.get(account)).toHaveLength(1);
    expect(await world.deletePeriod(account)).toEqual({ deleted: true });
    expect(world.lastPublished(account)).toMatchObject({ plan: null, subscription: null, concurrency: 3 });
    expect(await world.deletePeriod(account)).toMatchObject({ refused: { code: 'not_found' } });
    expect((await world.audit({ account })).entries).toMatchObject([
      { action: 'delete_subscription', before: { id: subscription.id }, after: null },
      { action: 'put_subscription', objectId: subscription.id, before: null, after: { planVersion: 1 } },
    ]);
  });

  test('with the same start changes in place; with another start it is a new one', async () => {
    const { account, plan, id } = await world.subscribed();
    await world.putPlan(plan, { concurrency: 20 });
    expect(await world.terms(account)).toMatchObject({ concurrency: 10, subscription: { id } });
    expect(await world.putPeriod(account, plan, world.now - HOUR, world.now + 2 * HOUR)).toMatchObject({
      change: 'changed',
      subscription: { id, planVersion: 2 },
    });
    expect(world.lastPublished(account)).toMatchObject({
      concurrency: 20,
      subscription: { id, end: world.now + 2 * HOUR },
    });
    const other = expectAccepted(await world.putPeriod(account, plan, world.now - HOUR / 2, world.now + HOUR));
    expect(other.subscription.id).not.toBe(id);
    expect(world.lastPublished(account)?.subscription?.id).toBe(other.subscription.id);
  });

  test('that follows is published ahead, and again for each new plan version', async () => {
    const { account, plan, id } = await world.subscribed(world.now - HOUR, world.now + 2 * HOUR);
    const start = world.now + HOUR;
    const { subscription } = expectAccepted(await world.putPeriod(account, plan, start, start + 2 * HOUR));
    expect(subscription).toMatchObject({ active: false, planVersion: 1 });
    expect(await shown(account)).toMatchObject({ id, periodEnd: iso(start) });
    const ahead = { id: subscription.id, start, end: start + 2 * HOUR };
    expect(world.lastPublished(account)).toMatchObject({
      subscription: { id, end: start },
      next: { plan: { id: plan }, concurrency: 10, subscription: ahead },
      withoutPlan: { requestsPerMinute: 60, concurrency: 3 },
    });
    expect(await world.terms(account)).toEqual(world.lastPublished(account));
    await world.putPlan(plan, { concurrency: 30 });
    await until('the new version is published', () => world.lastPublished(account)?.next?.concurrency === 30);
    expect(world.lastPublished(account)).toMatchObject({ concurrency: 10, subscription: { id } });
    world.now = start;
    expect(world.running(account)).toMatchObject({ concurrency: 30, subscription: ahead });
    expect(await shown(account)).toMatchObject({ id: subscription.id, planVersion: 2, active: true });
    await world.putPlan(plan, { concurrency: 40 });
    world.now += APART;
    await until(
      'the old period is no longer published',
      () => world.lastPublished(account)?.subscription?.id === subscription.id,
    );
    expect(world.lastPublished(account)).toMatchObject({ concurrency: 30 });
    expect(world.lastPublished(account)).not.toHaveProperty('next');
    world.now = ahead.end + APART;
    await until('the end is published', () => world.lastPublished(account)?.plan === null);
    expect(world.lastPublished(account)).toMatchObject({ concurrency: 3, requestsPerMinute: 60 });
    const versions = world.published.get(account)?.map(({ version }) => version) ?? [];
    expect(versions).toEqual([...new Set(versions)].sort((one, other) => one - other));
    expect(versions).toHaveLength(5);
  });

  test('is published with its follower within half a minute of clock difference', async () => {
    const { account, plan, id } = await world.subscribed(world.now - HOUR, world.now + HOUR);
    const end = world.now + HOUR;
    const { subscription } = expectAccepted(await world.putPeriod(account, plan, end, end + HOUR));
    for (const now of [end - 1, end, end + 2_000, end + APART - 1]) {
      world.now = now;
      const terms = await world.terms(account);
      expect([terms?.subscription?.id, terms?.next?.subscription.id]).toEqual([id, subscription.id]);
    }
    await world.dashboard.request(billingPutLimits, { account, spec: { concurrency: 7 }, author: AUTHOR });
    expect(world.lastPublished(account)).toMatchObject({
      concurrency: 7,
      subscription: { id },
      next: { concurrency: 7, subscription: { id: subscription.id } },
      withoutPlan: { concurrency: 7 },
    });
    world.now = end + APART;
    expect(await world.terms(account)).toMatchObject({ subscription: { id: subscription.id } });
  });

  test('is published before it begins, and can be ended before', async () => {
    const [account, plan] = [world.fresh('account'), world.fresh('plan')];
    await world.putPlan(plan);
    const funding = () => world.accounts.request(billingFunding, { account });
    expect(await funding()).toMatchObject({ planActive: false, inLedger: false });
    await world.putPeriod(account, plan, world.now + HOUR, world.now + 2 * HOUR);
    expect(await funding()).toMatchObject({ planActive: false, inLedger: true });
    expect(world.lastPublished(account)).toMatchObject({ plan: null, concurrency: 3, next: { plan: { id: plan } } });
    expect(await world.deletePeriod(account)).toEqual({ deleted: true });
    expect(world.lastPublished(account)).not.toHaveProperty('next');
  });

  test.each([
    ['invalid_request', 'periodEnd', -2 * HOUR, -HOUR],
    ['not_found', 'planId', 0, HOUR],
  ])('is refused with %s (%s)', async (code, param, from, to) => {
    expect(await world.putPeriod(world.fresh('account'), 'no-plan', world.now + from, world.now + to)).toMatchObject({
      refused: { code, param },
    });
  });

  test('returns not_in_force until admission applies it, as limits and credits do', async () => {
    const [account, plan] = [world.fresh('account'), world.fresh('plan')];
    await world.putPlan(plan);
    const spec = { amountUsd: '1.00', kind: 'credit' as const, reason: 'paid', reference: makeUuidV7(Date.now()) };
    const fund = () => world.dashboard.request(billingAddWalletEntry, { account, spec, author: AUTHOR });
    world.admissionAnswers = false;
    const answers = await Promise.all([
      world.putPeriod(account, plan, world.now, world.now + HOUR),
      world.dashboard.request(billingPutLimits, {
        account: world.fresh('account'),
        spec: { concurrency: 1 },
        author: AUTHOR,
      }),
      fund(),
    ]);
    for (const answer of answers) expect(answer).toMatchObject({ refused: { code: 'not_in_force' } });
    expect(await world.dashboard.request(billingWallet, { account })).toEqual({ balanceUsd: '1.00' });
    world.admissionAnswers = true;
    expect(await world.putPeriod(account, plan, world.now, world.now + HOUR)).toMatchObject({ change: 'unchanged' });
    expect(world.lastPublished(account)?.plan?.id).toBe(plan);
    expect(await fund()).toMatchObject({ repeated: true, balanceUsd: '1.00' });
  });
});

test('limits are shown as they were put, and an equal put writes nothing', async () => {
  const account = world.fresh('account');
  const put = (spec: object) => world.dashboard.request(billingPutLimits, { account, spec, author: AUTHOR });
  const none = { requestsPerMinute: null, concurrency: null, maxActiveKeys: null };
  expect(await world.dashboard.request(billingGetLimits, { account })).toEqual({ limits: none });
  await put({ concurrency: 4 });
  await put({ concurrency: 4 });
  expect(await world.dashboard.request(billingGetLimits, { account })).toEqual({ limits: { ...none, concurrency: 4 } });
  expect((await world.audit({ account })).entries).toMatchObject([
    { action: 'put_limits', objectId: account, before: none, after: { ...none, concurrency: 4 } },
  ]);
  expect(world.published.get(account)).toHaveLength(1);
});
