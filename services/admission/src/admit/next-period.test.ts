import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import type { AccountTerms } from '@gateway/contracts/messages';
import { monthlyWindowRow } from '@gateway/metering';
import { testEpoch } from '@gateway/testkit/random';
import type { FrozenClock } from '../../test/frozen-clock.js';
import { PRICE, admit, admitEntry, batch, makeAccount, makeWorld, mustAdmit } from '../../test/world.js';
import type { Replica, TestAccount, World } from '../../test/world.js';

const DAY = 86_400_000;
const END = Date.parse('2028-02-29T23:59:59.500Z');
const SKEW_MS = 2_000;
const OVERDUE_MS = 15_000;

type Period = NonNullable<AccountTerms['next']>;

let periods = 0;

function period(start: number, end: number, change: Partial<Period> = {}): Period {
  periods += 1;
  return {
    plan: { id: 'pro', name: 'Pro', tier: 'pro' },
    requestsPerMinute: 1_000_000,
    concurrency: 1_000,
    models: null,
    allotments: [],
    windows: [{ type: 'monthly', unit: 'requests', limit: 3, label: 'Monthly' }],
    subscription: { id: `period-${periods}`, start, end },
    ...change,
  };
}

/** Makes an account with a period that ends and a following one. */
function renewed(world: World, from: number, end: number, start = end, change: Partial<Period> = {}) {
  const [current, next] = [period(from, end), period(start, start + 30 * DAY, change)];
  const withoutPlan = { requestsPerMinute: 1_000_000, concurrency: 1 };
  const account = makeAccount(world, { wallet: 0, terms: { ...current, next, withoutPlan } });
  return { account, current: current.subscription.id, next: next.subscription.id };
}

describe('with a frozen clock', () => {
  let world: World;
  let one: Replica;
  let two: Replica;

  beforeAll(async () => {
    world = await makeWorld({ frozenAt: END - DAY });
    one = await world.replica();
    two = await world.replica();
  });
  beforeEach(() => {
    world.setTime(END - DAY);
    world.owners.billingDown = false;
  });
  afterAll(() => world.stop());

  const periodOf = async (account: TestAccount, replica = one) =>
    (await mustAdmit(replica, admitEntry(replica.clock, [account.digest]))).hold.periods.subscription?.id;
  const answer = (account: TestAccount) => admit(one, admitEntry(one.clock, [account.digest]));
  const err = (replica: Replica, ms: number): void => (replica.clock as FrozenClock).err(ms);

  test('the next period begins in its first millisecond without a billing message', async () => {
    const change = { concurrency: 2, models: ['acme/fixed'] };
    const { account, current, next } = renewed(world, END - 30 * DAY, END, END, change);
    for (let made = 0; made < 3; made += 1) expect(await periodOf(account)).toBe(current);
    world.owners.billingDown = true;
    world.setTime(END - 1);
    expect(await answer(account)).toMatchObject({
      code: 'window_exhausted',
      facts: { used: 3, retryAfterSeconds: 1, resetsAt: END },
    });
    world.setTime(END);
    const other = admitEntry(one.clock, [account.digest], { model: 'acme/tokens' });
    expect(await admit(one, other)).toMatchObject({ code: 'tier_permission_denied' });
    expect(await answer(account)).toMatchObject({ code: 'concurrency_limit', facts: { limit: 2, used: 3 } });
    const dump = await one.admission.readAccount(account.account);
    await one.admission.applySnapshots({
      ledgerEpoch: testEpoch(1),
      accounts: [{ account: account.account, rows: [], closed: dump.holds.map(({ id }) => id) }],
    });
    expect(await periodOf(account)).toBe(next);
    expect(await periodOf(account, two)).toBe(next);
    expect((await one.admission.readAccount(account.account)).held).toMatchObject({
      [monthlyWindowRow('requests', next)]: 2,
    });
  });

  test('a gap between periods has no plan and the slots of an account without one', async () => {
    const { account, current, next } = renewed(world, END - 30 * DAY, END, END + 5_000);
    expect(await periodOf(account)).toBe(current);
    world.setTime(END);
    expect(await answer(account)).toMatchObject({ code: 'no_funding' });
    await one.admission.applySnapshots({
      ledgerEpoch: testEpoch(1),
      accounts: [{ account: account.account, rows: [{ name: 'wallet', value: PRICE, version: 9 }], closed: [] }],
    });
    expect(await answer(account)).toMatchObject({ code: 'concurrency_limit', facts: { limit: 1, used: 1 } });
    world.setTime(END + 4_999);
    expect(await answer(account)).toMatchObject({ code: 'concurrency_limit' });
    world.setTime(END + 5_000);
    expect(await periodOf(account)).toBe(next);
  });

  test('usage and the model list change in the same millisecond as the period', async () => {
    const { account } = renewed(world, END - 30 * DAY, END, END + 1_000, { models: ['acme/tokens'] });
    const shown = async (time: number) => {
      world.setTime(time);
      const question = { id: makeUuidV7(one.clock.now()), digests: [account.digest] };
      const [usage, models] = [await one.admission.usage(question), await one.admission.authorize(question)];
      if (usage.kind !== 'usage' || models.kind !== 'authorized') throw new Error('refused');
      return [usage.terms.subscription?.start, usage.terms.plan?.id, usage.windows.length, models.planModels];
    };
    await periodOf(account);
    expect(await shown(END - 1)).toEqual([END - 30 * DAY, 'pro', 1, null]);
    expect(await shown(END)).toEqual([undefined, undefined, 0, []]);
    expect(await shown(END + 999)).toEqual([undefined, undefined, 0, []]);
    expect(await shown(END + 1_000)).toEqual([END + 1_000, 'pro', 1, ['acme/tokens']]);
  });

  test.each([SKEW_MS, -SKEW_MS])(
    'a process with a clock off by %d ms counts in the period of Redis time',
    async (skew) => {
      for (const time of [END - SKEW_MS, END - 1, END, END + SKEW_MS - 1]) {
        const { account, current, next } = renewed(world, END - 30 * DAY, END);
        world.setTime(END - DAY);
        await periodOf(account);
        world.setTime(time);
        err(one, skew);
        const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
        expect([call.hold.periods.subscription?.id, call.hold.admittedAt]).toEqual([time < END ? current : next, time]);
      }
    },
  );

  test('a process with a wrong clock uses the minute of the current period', async () => {
    const { account } = renewed(world, END - 30 * DAY, END, END, { requestsPerMinute: 0 });
    await periodOf(account);
    for (const [time, skew, expected] of [
      [END - 1, SKEW_MS, { kind: 'opened' }],
      [END, -SKEW_MS, { code: 'rate_limited', facts: { limit: 0, retryAfterSeconds: 1 } }],
    ] as const) {
      world.setTime(time);
      const id = makeUuidV7(one.clock.now());
      err(one, skew);
      const { answers } = await batch(one, { opens: [{ id, digests: [account.digest] }] });
      expect(answers.get(id)).toMatchObject(expected);
    }
  });

  test('an account stays in its period when Redis time goes back', async () => {
    const { account, next } = renewed(world, END - 30 * DAY, END);
    world.setTime(END);
    expect(await periodOf(account)).toBe(next);
    world.setTime(END - SKEW_MS);
    expect(await periodOf(account)).toBe(next);
    const other = renewed(world, END - 30 * DAY, END);
    expect(await periodOf(other.account)).toBe(other.current);
  });

  test('terms with only the new period do not begin it early', async () => {
    const { account, next } = renewed(world, END - 30 * DAY, END);
    await periodOf(account);
    const { next: alone } = account.state.terms.value;
    const told = { account: account.account, rows: [], closed: [], terms: { value: alone!, version: 2 } };
    await one.admission.apply({ snapshots: { ledgerEpoch: testEpoch(1), accounts: [told] } });
    world.setTime(END - 1);
    expect(await answer(account)).toMatchObject({ code: 'no_funding' });
    world.setTime(END);
    expect(await periodOf(account)).toBe(next);
  });
});

// Covers r13; a month, week or session ends in mid-call
test('each call counts in the period of its admission across a boundary', async () => {
  const world = await makeWorld();
  try {
    const replicas = [await world.replica(), await world.replica()];
    let refusedBefore = false;
    while (!refusedBefore) {
      const end = replicas[0]!.clock.now() + 700;
      const { account, current, next } = renewed(world, end - DAY, end);
      const counts = new Map<string, number>();
      /** Sends calls until the next period refuses one or is long overdue. */
      const caller = async (replica: Replica): Promise<void> => {
        let resetsAt = 0;
        while (resetsAt <= end && replica.clock.now() < end + OVERDUE_MS) {
          const outcome = await admit(replica, admitEntry(replica.clock, [account.digest]));
          if (outcome.kind === 'refused') {
            expect(outcome).toMatchObject({ code: 'window_exhausted', facts: { limit: 3, used: 3 } });
            resetsAt = Number(outcome.facts.resetsAt);
            refusedBefore ||= resetsAt === end;
            continue;
          }
          if (outcome.kind !== 'admitted' || outcome.hold === null) throw new Error(JSON.stringify(outcome));
          const { subscription } = outcome.hold.periods;
          expect(subscription?.id).toBe(outcome.hold.admittedAt < end ? current : next);
          counts.set(subscription!.id, (counts.get(subscription!.id) ?? 0) + 1);
        }
      };
      await Promise.all([...replicas, ...replicas, ...replicas].map(caller));
      // A paused machine may have made fewer calls in the first period, never more.
      const made = refusedBefore ? 3 : (counts.get(current) ?? 0);
      expect(made).toBeLessThanOrEqual(3);
      expect({ [current]: 0, ...Object.fromEntries(counts) }).toEqual({ [current]: made, [next]: 3 });
    }
  } finally {
    await world.stop();
  }
});
