import { beforeEach, describe, expect, test } from '@jest/globals';
import { billingApplyPlans, billingListPlans } from '@gateway/contracts/messages';
import { duringTests } from '@gateway/testkit/during-tests';
import { expectAccepted } from '../../test/accepted.js';
import { AUTHOR, HOUR, OperatorWorld, PLAN } from '../../test/operator-world.js';

const world = duringTests(OperatorWorld.start);

beforeEach(() => world.reset());

const apply = (plans: { id: string; spec: object }[], changes: object = {}) =>
  world.dashboard.request(billingApplyPlans, {
    plans: plans.map(({ id, spec }) => ({ id, spec: { ...PLAN, ...spec } })),
    prune: false,
    dryRun: false,
    author: AUTHOR,
    ...changes,
  });

describe('plans', () => {
  test('are created, changed and shown; putting the shown form changes nothing', async () => {
    const id = world.fresh('plan');
    const windows = [{ type: 'weekly', unit: 'usd', limit: '10.50' }];
    expect(await world.putPlan(id, { windows })).toMatchObject({ change: 'created', plan: { id, version: 1 } });
    expect(await world.putPlan(id, { windows })).toMatchObject({ change: 'unchanged', plan: { version: 1 } });
    expect(await world.putPlan(id, { windows, concurrency: 7 })).toMatchObject({
      change: 'changed',
      plan: { version: 2 },
    });
    const { plan } = expectAccepted(await world.getPlan(id));
    expect(plan).toMatchObject({ version: 2, concurrency: 7, windows: [{ limit: '10.50', label: 'Weekly' }] });
    expect(await world.putPlan(id, plan)).toEqual({ change: 'unchanged', plan });
    expect((await world.audit({ object: id })).entries).toMatchObject([
      { action: 'put_plan', ...AUTHOR, before: { version: 1 }, after: { version: 2, concurrency: 7 } },
      { action: 'put_plan', accountId: null, before: null, after: { version: 1 } },
    ]);
  });

  test('get one version for each concurrent put', async () => {
    const id = world.fresh('plan');
    const answers = await Promise.all([1, 2, 3, 4].map((concurrency) => world.putPlan(id, { concurrency })));
    expect(answers.map((answer) => expectAccepted(answer).plan.version).sort()).toEqual([1, 2, 3, 4]);
  });

  test('are refused and not stored when an amount is out of bounds', async () => {
    const id = world.fresh('plan');
    const windows = [{ type: 'weekly', unit: 'usd', limit: '9000000.01' }];
    await expect(world.putPlan(id, { windows })).rejects.toMatchObject({ code: 'invalid_message' });
    expect(await world.getPlan(id)).toMatchObject({ refused: { code: 'not_found' } });
  });

  test('are deleted when no open period uses them; a later put continues the versions', async () => {
    const { account, plan } = await world.subscribed();
    expect(await world.deletePlan(plan)).toMatchObject({ refused: { code: 'in_use' } });
    await world.deletePeriod(account);
    expect(await world.deletePlan(plan)).toEqual({ deleted: true });
    expect(await world.deletePlan(plan)).toMatchObject({ refused: { code: 'not_found' } });
    expect(await world.getPlan(plan)).toMatchObject({ refused: { code: 'not_found' } });
    expect(await world.putPeriod(account, plan, world.now, world.now + HOUR)).toMatchObject({
      refused: { code: 'not_found', param: 'planId' },
    });
    expect(await world.putPlan(plan)).toMatchObject({ change: 'created', plan: { version: 2 } });
  });

  test('deleted during a subscription: exactly one of them is refused', async () => {
    for (let round = 0; round < 10; round += 1) {
      const [account, plan] = [world.fresh('account'), world.fresh('plan')];
      await world.putPlan(plan);
      const [deleted, put] = await Promise.all([
        world.deletePlan(plan),
        world.putPeriod(account, plan, world.now, world.now + HOUR),
      ]);
      expect(['refused' in deleted, 'refused' in put].filter(Boolean)).toHaveLength(1);
    }
  });

  test('are listed by ID, page by page; a cursor of another list is refused', async () => {
    const ids = [1, 2, 3].map(() => world.fresh('zz-plan')).sort();
    for (const id of ids) await world.putPlan(id);
    const seen: string[] = [];
    for (let cursor: string | null = null, first = true; first || cursor !== null; first = false) {
      const page: { plans: { id: string }[]; nextCursor: string | null } = expectAccepted(
        await world.dashboard.request(billingListPlans, { cursor, limit: 2 }),
      );
      seen.push(...page.plans.map(({ id }) => id));
      cursor = page.nextCursor;
    }
    expect(seen).toEqual([...new Set(seen)].sort());
    expect(seen.slice(-3)).toEqual(ids);
  });
});

describe('apply', () => {
  test('makes the changes of its dry run, and none the second time', async () => {
    const [kept, changed, made] = [world.fresh('apply'), world.fresh('apply'), world.fresh('apply')];
    await apply([
      { id: kept, spec: {} },
      { id: changed, spec: {} },
    ]);
    const wanted = [
      { id: made, spec: { concurrency: 2 } },
      { id: kept, spec: {} },
      { id: changed, spec: { concurrency: 3 } },
    ];
    const dry = expectAccepted(await apply(wanted, { dryRun: true }));
    expect(dry).toMatchObject({
      unchanged: 1,
      changes: [
        { kind: 'plan', id: made, change: 'created', before: null, after: { version: 1, concurrency: 2 } },
        { id: changed, change: 'changed', before: { version: 1, concurrency: 10 }, after: { version: 2 } },
      ],
    });
    expect(await world.getPlan(made)).toMatchObject({ refused: { code: 'not_found' } });
    expect((await world.audit({ object: made })).entries).toEqual([]);
    expect(await apply(wanted)).toEqual(dry);
    expect(await apply(wanted)).toEqual({ changes: [], unchanged: 3 });
  });

  test('prunes missing plans, or nothing if one of them is in use', async () => {
    const [kept, pruned] = [world.fresh('apply'), world.fresh('apply')];
    await apply([
      { id: kept, spec: {} },
      { id: pruned, spec: {} },
    ]);
    const all = expectAccepted(await world.dashboard.request(billingListPlans, { cursor: null, limit: 200 })).plans;
    const others = all.filter(({ id }) => id !== pruned).map((spec) => ({ id: spec.id, spec }));
    const { account, plan } = await world.subscribed();
    const dry = await apply(others, { prune: true, dryRun: true });
    expect(dry).toMatchObject({ refused: { code: 'in_use', message: expect.stringContaining(plan) } });
    expect(await world.getPlan(pruned)).toMatchObject({ plan: { id: pruned } });
    const named = [...others, { id: plan, spec: {} }];
    expect(await apply(named, { prune: true, dryRun: true })).toMatchObject({
      changes: [{ id: pruned, change: 'deleted', before: { version: 1 }, after: null }],
    });
    expect(await apply(named, { prune: true })).toMatchObject({ changes: [{ id: pruned, change: 'deleted' }] });
    expect(await world.getPlan(pruned)).toMatchObject({ refused: { code: 'not_found' } });
    await world.deletePeriod(account);
  });

  test('reports a duplicate object and writes nothing', async () => {
    const prefix = world.fresh('apply');
    const plan = { id: `${prefix}-first`, spec: {} };
    expect(await apply([plan, plan])).toMatchObject({
      refused: { code: 'invalid_request', param: 'objects[1]', message: expect.stringContaining(plan.id) },
    });
    expect(await world.getPlan(`${prefix}-first`)).toMatchObject({ refused: { code: 'not_found' } });
  });
});
