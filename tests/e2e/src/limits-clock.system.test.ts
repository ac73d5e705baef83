// Limits where the clocks of all services are wrong and a minute, a week, a month and a paid period
// end at once. The clock that decides is shifted, so that this moment comes while the test runs.
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { timeOfUuidV7 } from '@gateway/contracts/ids';
import type { LedgerTransactionView } from '@gateway/contracts/operator';
import { MINUTE_MS, WEEK_MS, keyMonthRow, monthOf, weeklyWindowRow } from '@gateway/metering';
import { until } from '@gateway/testkit';
import { readSettled } from '../test/limit-store.js';
import { startOwnSystem } from '../test/own-system.js';
import type { OwnSystem } from '../test/own-system.js';
import { faultsOf } from './prove/judge-limit.js';
import { CENT_NANO_USD, limitCalled } from './prove/limit-cases.js';
import type { LimitedAccount } from './prove/limit-cases.js';
import { DURATIONS, LimitVerification, REPLICAS } from './prove/limit-verification.js';
import type { PressedCall } from './prove/press-limit.js';

const CALLS = 200;
const FIT = 40;
/**
 * Two seconds in either direction: the replicas of a service disagree, and so do those who ask and
 * those who settle.
 */
const SKEWS = {
  'edge-proxy-1': 2_000,
  'edge-proxy-2': -2_000,
  'admission-1': -2_000,
  'admission-2': 2_000,
  'billing-1': 2_000,
  'accounts-1': -2_000,
  'catalog-1': 2_000,
};
/**
 * From the start of the services to the end of the periods. On a machine that is too busy to use
 * everything up before it, all begins again with the next.
 */
const LEADS_MS = [28_000, 60_000, 150_000];
/** Everything is used up for the first time so long before it. */
const USED_UP_MS = 8_000;
/** Calls go on for so long after it. */
const AFTER_MS = 3_000;
const BOUNDARY_MS = nextMonthOnMonday(Date.now());

let system: OwnSystem;
let verification: LimitVerification;
let leadMs = 0;
let scenes: Scenes;
beforeAll(async () => {
  for (leadMs of LEADS_MS) {
    await startBefore(leadMs);
    await expectSkew();
    scenes = await useUp();
    if (verification.clients.nowMs() < BOUNDARY_MS || leadMs === LEADS_MS.at(-1)) break;
    await end();
  }
}, 500_000);
afterAll(() => end(), 60_000);

async function startBefore(lead: number): Promise<void> {
  const preload = fileURLToPath(new URL('../test/skewed-clock.mjs', import.meta.url));
  let offsetMs: number | undefined;
  system = await startOwnSystem(
    'limits-clock',
    {
      ...DURATIONS,
      GATEWAY_TEST_CONTROLS: 'on',
      // Asked for when the servers are up, however long that took.
      get GATEWAY_CLOCK_OFFSET_MS() {
        return String((offsetMs ??= BOUNDARY_MS - lead - Date.now()));
      },
      E2E_CLOCK_SKEWS: JSON.stringify(SKEWS),
      NODE_OPTIONS: `--import=${preload}`,
    },
    REPLICAS,
  );
  verification = await LimitVerification.begin(system, offsetMs);
  await loadTime();
}

async function end(): Promise<void> {
  await verification?.end();
  await system?.stop();
}

/** The clocks are wrong indeed: billing names a transaction by its time. */
async function expectSkew(): Promise<void> {
  const { id } = await system.operator.emptyAccount();
  const before = Date.now();
  await system.operator.credit(id, '1.00');
  const [entry] = await system.operator.all<LedgerTransactionView>(`/accounts/${id}/ledger`);
  expect(timeOfUuidV7(entry?.id ?? '')).toBeGreaterThanOrEqual(before + SKEWS['billing-1']);
}

/**
 * An edge learns the time that decides from the first answer; the call that asked has an id of the
 * wrong time.
 */
async function loadTime(): Promise<void> {
  const { account, model } = await verification.arrange(limitCalled('wallet'), CALLS);
  await until('both edges know the time', async () => {
    const press = { secret: account.secret, model, calls: REPLICAS['edge-proxy'], inFlight: 1, backOff: null };
    const seen = await verification.clients.press(press);
    return seen.every(({ answer }) => !answer.endsWith('admission_error'));
  });
}

interface Scenes {
  readonly minute: Arranged;
  readonly week: Arranged;
  readonly month: Arranged;
  readonly paid: Arranged;
  /** In this order. */
  readonly seen: readonly PressedCall[][];
  /** So many calls of each. */
  pressAll(calls: number): Promise<unknown>;
}

type Arranged = Awaited<ReturnType<LimitVerification['arrange']>>;

/** Accounts with a limit each, which is used up in the last seconds of its period. */
async function useUp(): Promise<Scenes> {
  const minute = await verification.arrange(limitCalled('requests per minute'), FIT);
  const week = await verification.arrange(limitCalled('weekly in requests'), FIT);
  const month = await verification.arrange(limitCalled('cap of a key'), FIT);
  const paid = await verification.arrange(limitCalled('monthly in requests'), FIT);
  await endsAtBoundary(paid.account);
  const all = [minute, week, month, paid];
  const seen = all.map((): PressedCall[] => []);
  const pressAll = (calls: number): Promise<unknown> =>
    Promise.all(
      all.map(async ({ account, model }, index) => {
        const press = { secret: account.secret, model, calls, inFlight: 20, backOff: null };
        seen[index]?.push(...(await verification.clients.press(press)));
      }),
    );
  await until('the last seconds of the periods', () => verification.clients.nowMs() > BOUNDARY_MS - USED_UP_MS, leadMs);
  await pressAll(3 * FIT);
  return { minute, week, month, paid, seen, pressAll };
}

// Covers a month, week or session ends in mid-call
test.concurrent(
  'a minute, a week, a month and a paid period end in the midst of calls: each period has exactly what fits',
  async () => {
    const { minute, pressAll, seen } = scenes;
    await until('the last second of the periods', () => verification.clients.nowMs() > BOUNDARY_MS - 1_000, MINUTE_MS);
    while (verification.clients.nowMs() < BOUNDARY_MS + AFTER_MS) await pressAll(20);
    await pressAll(2 * FIT);
    const { week, month, paid } = scenes;
    for (const { account } of [minute, week, month, paid]) await verification.limitStoreIsEmpty(account.account);

    const [ofMinute = [], ofWeek = [], ofMonth = [], ofPaid = []] = seen.map((calls) =>
      calls.filter((call) => faultsOf([call]) === 0),
    );
    const minutes = await verification.minutes(minute.account.account, BOUNDARY_MS - leadMs);
    const fits = minutes.reduce((sum, count) => sum + Math.min(count, FIT), 0);
    // One that nobody decided may have its place.
    const undecided = faultsOf(seen[0] ?? []);
    expect(answered(ofMinute)).toBeLessThanOrEqual(fits);
    expect(answered(ofMinute)).toBeGreaterThanOrEqual(fits - undecided);
    // Each call has its place; one that was refused and whose answer took long was asked for again,
    // and has two.
    expect(minutes.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(ofMinute.length);

    const weeks = [BOUNDARY_MS - WEEK_MS, BOUNDARY_MS].map((start) => weeklyWindowRow('requests', start));
    await expectSettled(week.account, weeks, FIT);
    expectAtBoundary(ofWeek, '429 window_exhausted');
    for (const { answer, retryAfter, begunAtMs, endedAtMs } of ofWeek) {
      if (answer !== '429 window_exhausted') continue;
      const resets = endedAtMs < BOUNDARY_MS ? BOUNDARY_MS : BOUNDARY_MS + WEEK_MS;
      if (begunAtMs < BOUNDARY_MS && endedAtMs >= BOUNDARY_MS) continue;
      expect(retryAfter).toBeGreaterThanOrEqual(Math.ceil((resets - endedAtMs) / 1000));
      expect(retryAfter).toBeLessThanOrEqual(Math.ceil((resets - begunAtMs) / 1000));
    }

    const months = [BOUNDARY_MS - 1, BOUNDARY_MS].map((at) => keyMonthRow(month.account.key, monthOf(at)));
    await expectSettled(month.account, months, FIT * Number(CENT_NANO_USD));
    expectAtBoundary(ofMonth, '403 monthly_spend_cap_exceeded');

    expect(answered(ofPaid)).toBe(FIT);
    expect(ofPaid.map(({ answer }) => answer)).toContain('402 no_funding');
    for (const { answer, begunAtMs, endedAtMs } of ofPaid) {
      // Without a plan the account has the defaults: above 60 a minute the minute refuses first.
      if (begunAtMs >= BOUNDARY_MS) expect(['402 no_funding', '429 rate_limited']).toContain(answer);
      else if (endedAtMs < BOUNDARY_MS) expect(['200', '429 window_exhausted', FAILED]).toContain(answer);
    }
  },
  120_000,
);

// They begin after the end of the periods.
test.concurrent.each([
  'requests per minute',
  'session_5h in requests',
  'weekly in requests',
  'monthly in requests',
  'cap of a key',
])(
  '%s, with all clocks wrong by two seconds: exactly those that fit, with the right Retry-After',
  async (name) => {
    await until('the periods have ended', () => verification.clients.nowMs() > BOUNDARY_MS + AFTER_MS, MINUTE_MS);
    const { differences } = await verification.press(limitCalled(name), CALLS, FIT);
    expect(differences).toEqual([]);
  },
  60_000,
);

const FAILED = '500 upstream_error';

/** The account's plan goes on, its period ends with all the others. */
async function endsAtBoundary({ account, period }: LimitedAccount): Promise<void> {
  const { planId } = await system.operator.must<{ planId: string }>('GET', `/accounts/${account}/subscription`);
  await system.operator.subscribe(account, planId, { startMs: period?.startMs ?? 0, endMs: BOUNDARY_MS });
}

/** `FIT` before, `FIT` after, and nothing else but the refusal and what failed at the provider. */
function expectAtBoundary(seen: readonly PressedCall[], refusal: string): void {
  const before = seen.filter(({ endedAtMs }) => endedAtMs < BOUNDARY_MS);
  const after = seen.filter(({ begunAtMs }) => begunAtMs >= BOUNDARY_MS);
  expect(answered(before)).toBe(FIT);
  expect(answered(seen)).toBe(2 * FIT);
  for (const calls of [before, after]) expect(calls.filter(({ answer }) => answer === refusal)).not.toEqual([]);
  expect([...new Set(seen.map(({ answer }) => answer))].sort()).toEqual(['200', refusal, FAILED].sort());
}

async function expectSettled({ account }: LimitedAccount, rows: readonly string[], use: number): Promise<void> {
  for (const row of rows) {
    await until(`${row} is settled`, async () => (await readSettled(verification.redis, account, row)) === use);
  }
}

function answered(seen: readonly PressedCall[]): number {
  return seen.filter(({ answer }) => answer === '200').length;
}

/** 00:00 UTC of the next first of a month that is a Monday: at most eleven months away. */
function nextMonthOnMonday(now: number): number {
  const date = new Date(now);
  for (let months = 1; ; months += 1) {
    const first = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1));
    if (first.getUTCDay() === 1) return first.getTime();
  }
}
