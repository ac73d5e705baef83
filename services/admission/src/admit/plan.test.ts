import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { AccountTerms } from '@gateway/contracts/messages';
import {
  SESSION_5H_MS,
  WEEK_MS,
  allotmentRow,
  monthlyWindowRow,
  sessionWindowRow,
  weekStart,
  weeklyWindowRow,
} from '@gateway/metering';
import { testEpoch } from '@gateway/testkit/random';
import {
  PRICE,
  admit,
  admitEntry,
  batch,
  makeAccount,
  makeWorld,
  mustAdmit,
  release,
  requestsWindow,
  usdWindow,
} from '../../test/world.js';
import type { Admitted, Replica, TestAccount, World, PlanWindow } from '../../test/world.js';

let world: World;
let one: Replica;
let subscriptions = 0;

beforeAll(async () => {
  world = await makeWorld();
  one = await world.replica();
});
afterAll(() => world.stop());

function planAccount(
  options: {
    wallet?: number;
    windows?: PlanWindow[];
    allotments?: AccountTerms['allotments'];
    key?: { capNanoUsd: number };
  } = {},
): TestAccount {
  subscriptions += 1;
  const now = one.clock.now();
  return makeAccount(world, {
    wallet: options.wallet ?? 0,
    ...(options.key && { key: options.key }),
    terms: {
      plan: { id: 'pro', name: 'Pro', tier: 'pro' },
      models: ['acme/fixed', 'acme/tokens'],
      concurrency: 1_000,
      windows: options.windows ?? [],
      allotments: options.allotments ?? [],
      subscription: { id: `sub-plan-${subscriptions}`, start: now - 1_000, end: now + 30 * 86_400_000 },
    },
  });
}

const periodOf = (account: TestAccount) => account.state.terms.value.subscription!.id;
const ask = (account: TestAccount, model = 'acme/fixed') =>
  admit(one, admitEntry(one.clock, [account.digest], { model }));
const snapshot = (account: TestAccount, rows: Record<string, number>, version: number, closed: string[]) =>
  one.admission.applySnapshots({
    ledgerEpoch: testEpoch(1),
    accounts: [
      {
        account: account.account,
        rows: Object.entries(rows).map(([name, value]) => ({ name, value, version })),
        closed,
      },
    ],
  });

test('the plan pays first, and pays everything without a USD window', async () => {
  const call = await mustAdmit(one, admitEntry(one.clock, [planAccount().digest]));
  expect(call.hold).toMatchObject({ planMaxNanoUsd: 9_000_000_000_000_000, walletMaxNanoUsd: 0, worstNanoUsd: PRICE });
});

test('the wallet is held for the part of the worst case above the tightest window', async () => {
  const account = planAccount({
    wallet: 250_000,
    windows: [usdWindow('monthly', 10_000_000), usdWindow('weekly', 2_000_000)],
  });
  account.state.rows.set(monthlyWindowRow('usd', periodOf(account)), { value: 9_500_000, version: 1 });
  const bounds = { promptBytes: 30, arrayElements: 0, attachments: 0, outputTokensMax: 100_000 };
  const entry = admitEntry(one.clock, [account.digest], { model: 'acme/tokens', bounds });
  const first = await mustAdmit(one, entry);
  expect(first.hold).toMatchObject({ worstNanoUsd: 900_030, planMaxNanoUsd: 500_000, walletMaxNanoUsd: 250_000 });
  const dump = await one.admission.readAccount(account.account);
  expect(dump.held).toMatchObject({ wallet: 250_000, [`km:${account.key}:${first.hold.periods.month}`]: 900_030 });
  // A done call holds the part of the wallet that the ledger will take.
  await batch(one, { releases: [release(first, 'ok', 500_010)] });
  expect((await one.admission.readAccount(account.account)).held['wallet']).toBe(10);
});

test('a call is refused if window and wallet do not cover its least cost', async () => {
  const account = planAccount({ wallet: PRICE / 4, windows: [usdWindow('monthly', PRICE / 2)] });
  expect(await ask(account)).toMatchObject({
    code: 'insufficient_credits',
    facts: { available: PRICE / 4, held: 0, least: PRICE },
  });
});

// Covers i6
test('a USD window is used up by settled use only and reports its reset', async () => {
  const account = planAccount({ wallet: 100 * PRICE, windows: [usdWindow('monthly', 2 * PRICE)] });
  for (let call = 0; call < 5; call += 1) expect(await ask(account)).toMatchObject({ kind: 'admitted' });
  await snapshot(account, { [monthlyWindowRow('usd', periodOf(account))]: 2 * PRICE }, 2, []);
  const { end } = account.state.terms.value.subscription!;
  const refused = await ask(account);
  expect(refused).toMatchObject({
    code: 'window_exhausted',
    facts: { window: 'monthly', unit: 'usd', limit: 2 * PRICE, used: 2 * PRICE, resetsAt: end },
  });
  if (refused.kind !== 'refused') throw new Error('not refused');
  expect(refused.facts.retryAfterSeconds).toBeGreaterThan(29 * 86_400);
});

test('a refusal by several used-up windows names the latest reset', async () => {
  const account = planAccount({
    windows: [requestsWindow('monthly', 0), requestsWindow('session_5h', 0), requestsWindow('weekly', 0)],
  });
  expect(await ask(account)).toMatchObject({
    code: 'window_exhausted',
    facts: { window: 'monthly', unit: 'requests', limit: 0 },
  });
});

test('the last 5 % of a USD window admit one call at a time', async () => {
  const account = planAccount({ windows: [usdWindow('weekly', 20 * PRICE)] });
  const settledAt = (value: number): void => {
    account.state.rows.set(weeklyWindowRow('usd', weekStart(one.clock.now())), { value, version: value });
  };
  settledAt(19 * PRICE);
  const first = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  // The running call may cost exactly the rest, so a further one may exceed it.
  const second = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const answer = await admit(one, admitEntry(one.clock, [account.digest]));
  expect(answer).toMatchObject({
    code: 'concurrency_limit',
    facts: { window: 'weekly', unit: 'usd', limit: 20 * PRICE, used: 19 * PRICE, retryAfterSeconds: 2 },
  });
  expect(second.roomLeft).toBe(0);
  await batch(one, { releases: [release(second, 'void')] });
  await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  await batch(one, { releases: [release(first, 'ok', PRICE)] });
  expect(await admit(one, admitEntry(one.clock, [account.digest]))).toMatchObject({ code: 'window_exhausted' });
});

test('running calls do not delay others before the last 5 % of a USD window', async () => {
  const account = planAccount({ windows: [usdWindow('weekly', 20 * PRICE)] });
  const row = weeklyWindowRow('usd', weekStart(one.clock.now()));
  account.state.rows.set(row, { value: 18 * PRICE, version: 1 });
  for (let count = 0; count < 10; count += 1) await mustAdmit(one, admitEntry(one.clock, [account.digest]));
});

test('a request window counts running calls and releases failed ones', async () => {
  const account = planAccount({ windows: [requestsWindow('weekly', 5)] });
  const entries = Array.from({ length: 40 }, () => admitEntry(one.clock, [account.digest]));
  const { answers } = await batch(one, { admits: entries });
  const admitted = [...answers.values()].filter((answer) => answer.kind === 'admitted') as Admitted[];
  expect(admitted).toHaveLength(5);
  expect(await ask(account)).toMatchObject({
    code: 'window_exhausted',
    facts: { limit: 5, used: 5, resetsAt: weekStart(one.clock.now()) + WEEK_MS },
  });
  await batch(one, { releases: [release(admitted[0]!, 'void'), release(admitted[1]!, 'ok', PRICE)] });
  expect(await ask(account)).toMatchObject({ kind: 'admitted' });
  expect(await ask(account)).toMatchObject({ code: 'window_exhausted' });
});

test('a window type can have limits in both units with separate counts', async () => {
  const account = planAccount({ windows: [usdWindow('weekly', 10 * PRICE), requestsWindow('weekly', 2)] });
  expect(await ask(account)).toMatchObject({ kind: 'admitted', hold: { planMaxNanoUsd: 10 * PRICE } });
  expect(await ask(account)).toMatchObject({ kind: 'admitted' });
  expect(await ask(account)).toMatchObject({ code: 'window_exhausted', facts: { unit: 'requests' } });
});

test('an allotment limits only its model and its error shows the date', async () => {
  const account = planAccount({ allotments: [{ model: 'acme/fixed', unit: 'requests', limit: 2 }] });
  account.state.rows.set(allotmentRow('requests', 'acme/fixed', periodOf(account)), { value: 1, version: 1 });
  expect(await ask(account)).toMatchObject({ kind: 'admitted', hold: { allotment: 'requests' } });
  const { end } = account.state.terms.value.subscription!;
  expect(await ask(account)).toMatchObject({
    code: 'model_limit_reached',
    facts: { model: 'acme/fixed', unit: 'requests', limit: 2, used: 2, resetsAt: end },
  });
  expect(await ask(account, 'acme/tokens')).toMatchObject({ kind: 'admitted' });
});

test('a session starts with its first call and ends five hours later', async () => {
  const account = planAccount({ windows: [requestsWindow('session_5h', 2)] });
  const first = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  const start = first.hold.periods.session5h!;
  expect(start).toBe(first.hold.admittedAt);
  world.advance(60_000);
  const second = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  expect(second.hold.periods.session5h).toBe(start);
  expect(await ask(account)).toMatchObject({
    code: 'window_exhausted',
    facts: { window: 'session_5h', limit: 2, used: 2, resetsAt: start + SESSION_5H_MS },
  });
  await snapshot(account, { [sessionWindowRow('requests', start)]: 2 }, 2, [first.id, second.id]);
  expect(await ask(account)).toMatchObject({ code: 'window_exhausted' });
  world.advance(SESSION_5H_MS - 60_000);
  const third = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  expect(third.hold.periods.session5h).toBe(third.hold.admittedAt);
});

// Covers r13
test('a session without a billed call counts as never opened', async () => {
  const account = planAccount({ windows: [usdWindow('session_5h', 5 * PRICE)] });
  const calls = [
    await mustAdmit(one, admitEntry(one.clock, [account.digest])),
    await mustAdmit(one, admitEntry(one.clock, [account.digest])),
  ];
  const start = calls[0]!.hold.periods.session5h;
  await batch(one, { releases: [release(calls[0]!, 'void')] });
  expect((await one.admission.readAccount(account.account)).session).toBe(start);
  await batch(one, { releases: [release(calls[1]!, 'void')] });
  expect((await one.admission.readAccount(account.account)).session).toBeNull();
  world.advance(1_000);
  const next = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  expect(next.hold.periods.session5h).toBe(next.hold.admittedAt);
});

// Covers r8
test('charges of a lost balance snapshot count twice until the sweep, never zero times', async () => {
  const account = planAccount({ windows: [usdWindow('session_5h', 3 * PRICE)] });
  const digests = [account.digest];
  const lost = await mustAdmit(one, admitEntry(one.clock, digests));
  const told = await mustAdmit(one, admitEntry(one.clock, digests));
  await batch(one, { releases: [release(lost, 'ok', PRICE), release(told, 'ok', PRICE)] });
  const row = sessionWindowRow('usd', lost.hold.periods.session5h!);
  account.state.rows.set(row, { value: 2 * PRICE, version: 3 });
  for (const { id } of [lost, told]) account.state.records.add(id);
  await snapshot(account, { [row]: 2 * PRICE }, 3, [told.id]);
  expect(await ask(account)).toMatchObject({
    code: 'window_exhausted',
    facts: { limit: 3 * PRICE, used: 3 * PRICE },
  });
  world.advance(5_100);
  await one.admission.sweep();
  const last = await mustAdmit(one, admitEntry(one.clock, digests));
  await batch(one, { releases: [release(last, 'ok', PRICE)] });
  expect(await ask(account)).toMatchObject({
    code: 'window_exhausted',
    facts: { limit: 3 * PRICE, used: 3 * PRICE },
  });
});

test('a billed session stays open without holds and is loaded from the ledger', async () => {
  const account = planAccount({ windows: [usdWindow('session_5h', 5 * PRICE)] });
  const start = one.clock.now() - 3_600_000;
  account.state.rows.set(sessionWindowRow('usd', start), { value: 4 * PRICE, version: 3 });
  const call = await mustAdmit(one, admitEntry(one.clock, [account.digest]));
  expect(call.hold).toMatchObject({ planMaxNanoUsd: PRICE, periods: { session5h: start } });
  await batch(one, { releases: [release(call, 'void')] });
  expect((await one.admission.readAccount(account.account)).session).toBe(start);
});

test('a plan pays only within its period and only for its models', async () => {
  const account = planAccount({ wallet: 3 * PRICE, windows: [requestsWindow('monthly', 0)] });
  account.state.terms.value.models?.splice(0, 1);
  expect(await ask(account)).toMatchObject({
    kind: 'admitted',
    hold: { planMaxNanoUsd: 0, walletMaxNanoUsd: null, windows: [] },
  });
  const ended = planAccount({ windows: [usdWindow('monthly', 10 * PRICE)] });
  expect(await ask(ended)).toMatchObject({ kind: 'admitted', hold: { planMaxNanoUsd: 10 * PRICE } });
  world.advance(31 * 86_400_000);
  expect(await ask(ended)).toMatchObject({ code: 'no_funding' });
});

test('caps limit the rated worst case regardless of who pays', async () => {
  const account = planAccount({ key: { capNanoUsd: 2 * PRICE } });
  expect(await ask(account)).toMatchObject({ kind: 'admitted' });
  expect(await ask(account)).toMatchObject({ kind: 'admitted' });
  expect(await ask(account)).toMatchObject({
    code: 'monthly_spend_cap_exceeded',
    facts: { limit: 2 * PRICE, held: 2 * PRICE, worst: PRICE },
  });
});
