import { beforeEach, describe, expect, test } from '@jest/globals';
import { onPool } from '@gateway/postgres';
import { until } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { HOUR, OperatorWorld } from '../../test/operator-world.js';
import { CLOCK_DIFFERENCE_MS_MAX } from './period-rules.js';

const world = duringTests(OperatorWorld.start);

beforeEach(() => world.reset());

describe('a renewal', () => {
  const history = (account: string) =>
    onPool(world.billing.ledger.pool).query<{ start: string; end: string; version: number }>(
      `SELECT to_char(period_start, 'YYYY-MM-DD') AS start, to_char(period_end, 'YYYY-MM-DD') AS end,
              plan_version AS version FROM subscription_periods
        WHERE account = $1 AND ended_at IS NULL ORDER BY period_start`,
      [account],
    );
  const renewedTo = (account: string, end: string) =>
    until(`the period to ${end}`, async () => (await history(account)).some((period) => period.end === end));

  test.each([
    ['2026-10-31', '2026-11-30', ['2026-12-31', '2027-01-31', '2027-02-28', '2027-03-31', '2027-04-30']],
    ['2027-12-30', '2028-01-30', ['2028-02-29', '2028-03-30', '2028-04-30']],
    ['2026-11-02', '2026-11-16', ['2026-11-30', '2026-12-14']],
  ])(
    'of %s to %s continues with %j',
    async (start, end, ends) => {
      world.now = Date.parse(start);
      const { account, id } = await world.subscribed(world.now, Date.parse(end), true);
      const periods = [{ start, end }];
      for (const next of ends) {
        const last = periods.at(-1)?.end ?? '';
        world.now = Date.parse(last) - 86_400_000;
        await renewedTo(account, next);
        periods.push({ start: last, end: next });
        await until('it is published', () => world.lastPublished(account)?.next?.subscription.end === Date.parse(next));
        world.now = Date.parse(last) - 1;
        expect(world.running(account)?.subscription.end).toBe(Date.parse(last));
        world.now += 1;
        expect(world.running(account)?.subscription).toMatchObject({ start: world.now, end: Date.parse(next) });
        world.now += CLOCK_DIFFERENCE_MS_MAX;
        await until('the old one is no longer published', () => world.lastPublished(account)?.next === undefined);
      }
      expect(await history(account)).toMatchObject(periods);
      expect(new Set(world.published.get(account)?.map(({ value }) => value.subscription?.id)).size).toBe(
        periods.length,
      );
      expect(world.published.get(account)).toHaveLength(2 * periods.length - 1);
      expect(world.lastPublished(account)?.subscription?.id).not.toBe(id);
      expect((await world.audit({ account })).entries[0]).toMatchObject({
        action: 'renew_subscription',
        actor: 'billing',
      });
    },
    60_000,
  );

  test('begins with the plan version of its last publication', async () => {
    const { account, plan } = await world.subscribed(world.now - HOUR, world.now + 25 * HOUR, true);
    world.now += 2 * HOUR;
    await until('it is published ahead', () => world.lastPublished(account)?.next?.concurrency === 10);
    await world.putPlan(plan, { concurrency: 40 });
    await until('the change is published', () => world.lastPublished(account)?.next?.concurrency === 40);
    world.now += 23 * HOUR;
    await world.putPlan(plan, { concurrency: 50 });
    world.now += CLOCK_DIFFERENCE_MS_MAX;
    await until('it is published alone', () => world.lastPublished(account)?.concurrency === 40);
    expect((await history(account)).map(({ version }) => version)).toEqual([1, 2]);
  });

  test('of many accounts is published again in batches when their plan changes', async () => {
    const plan = world.fresh('plan');
    await world.putPlan(plan);
    const accounts = Array.from({ length: 230 }, () => world.fresh('account'));
    // Some periods begin at the same time, so that a batch ends between them.
    for (const [index, account] of accounts.entries())
      await world.putPeriod(account, plan, world.now + HOUR + Math.floor(index / 50), world.now + 2 * HOUR);
    await world.putPlan(plan, { concurrency: 11 });
    await world.putPlan(plan, { concurrency: 12 });
    await until('all are published', () =>
      accounts.every((account) => world.lastPublished(account)?.next?.concurrency === 12),
    );
    await until('nothing is left to do', async () => {
      const [left] = await onPool(world.billing.ledger.pool).query<{ count: bigint }>(
        'SELECT count(*) AS count FROM plan_refreshes',
      );
      return Number(left?.count) === 0;
    });
    for (const account of accounts) expect(world.published.get(account)?.length).toBeLessThanOrEqual(3);
  }, 240_000);

  test('is removed by a change, and created again', async () => {
    const { account, plan, id } = await world.subscribed(world.now - HOUR, world.now + HOUR, true);
    await until('it is renewed', async () => (await history(account)).length === 2);
    expect(await world.putPeriod(account, plan, world.now - HOUR, world.now + HOUR, false)).toMatchObject({
      change: 'changed',
    });
    expect(await history(account)).toHaveLength(1);
    expect(await world.putPeriod(account, plan, world.now - HOUR, world.now + HOUR, true)).toMatchObject({
      subscription: { id },
    });
    await until('it is renewed again', async () => (await history(account)).length === 2);
    await world.deletePeriod(account);
    expect(await history(account)).toEqual([]);
  });

  test('that is late skips the periods that have passed', async () => {
    const { account } = await world.subscribed(world.now - HOUR, world.now + HOUR, true);
    await until('it is renewed', async () => (await history(account)).length === 2);
    world.now += 9.5 * HOUR;
    await until('the current period is published', () => world.running(account) !== null);
    const ends = await onPool(world.billing.ledger.pool).query(
      'SELECT FROM subscription_periods WHERE account = $1 AND ended_at IS NULL',
      [account],
    );
    expect(ends.length).toBeLessThanOrEqual(4);
  });

  test('of many accounts happens once each, with two replicas', async () => {
    const plan = world.fresh('plan');
    await world.putPlan(plan);
    const accounts = Array.from({ length: 60 }, () => world.fresh('account'));
    await Promise.all(
      accounts.map((account) => world.putPeriod(account, plan, world.now - HOUR, world.now + 30 * HOUR, true)),
    );
    world.now += 30 * HOUR;
    await until('all are published', () =>
      accounts.every((account) => world.running(account)?.subscription.start === world.now),
    );
    for (const account of accounts) {
      expect(await history(account)).toHaveLength(2);
      expect(world.published.get(account)).toHaveLength(2);
    }
  });
});
