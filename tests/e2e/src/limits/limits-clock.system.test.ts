// Tests limits while the clocks of all services are wrong, and a minute, a week, a month and a paid
// period end at the same time. The limit store's clock is shifted, so that this moment comes during
// the test.
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { timeOfUuidV7 } from '@gateway/contracts/ids';
import type { LedgerTransactionView } from '@gateway/contracts/operator';
import { MINUTE_MS, WEEK_MS, keyMonthRow, monthOf, weeklyWindowRow } from '@gateway/metering';
import { until } from '@gateway/testkit';
import { readSettled } from '../../test/limit-store.js';
import { PATIENT, startOwnSystem } from '../../test/own-system.js';
import type { OwnSystem } from '../../test/own-system.js';
import { CENT_NANO_USD } from '../../test/prices.js';
import { limitCalled } from './limit-cases.js';
import type { LimitedAccount } from './limit-cases.js';
import { DURATIONS, REPLICAS, startLimitVerification } from './limits.js';
import type { ArrangedLimit, LimitVerification } from './limits.js';
import type { PressedCall } from './press-limit.js';

const CALLS = 200;
const FIT = 40;
/**
 * Clock errors of two seconds in both directions. The replicas of a service disagree, and edges and
 * admissions disagree with billing.
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
 * Times from the start of the services to the end of the periods. If a busy machine cannot use up
 * the limits before that end, the set-up starts again with the next time.
 */
const LEADS_MS = [28_000, 60_000, 150_000];
/** The requests that use up the limits begin this long before the end of the periods. */
const USED_UP_MS = 8_000;
/** Requests continue for this long after the end of the periods. */
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
    if (verification.nowMs() < BOUNDARY_MS || leadMs === LEADS_MS.at(-1)) break;
    await end();
  }
}, 500_000);
afterAll(() => end(), 60_000);

async function startBefore(lead: number): Promise<void> {
  const preload = fileURLToPath(new URL('../../test/skewed-clock.mjs', import.meta.url));
  let offsetMs: number | undefined;
  system = await startOwnSystem(
    'limits-clock',
    {
      ...DURATIONS,
      ...PATIENT,
      // Computed when the servers run, because the time of their start is unknown.
      get GATEWAY_CLOCK_OFFSET_MS() {
        return String((offsetMs ??= BOUNDARY_MS - lead - Date.now()));
      },
      E2E_CLOCK_SKEWS: JSON.stringify(SKEWS),
      NODE_OPTIONS: `--import=${preload}`,
    },
    REPLICAS,
  );
  verification = await startLimitVerification(system, offsetMs);
  await loadTime();
}

async function end(): Promise<void> {
  await verification?.end();
  await system?.stop();
}

/** Checks that the clocks are wrong: the IDs of billing's transactions contain its time. */
async function expectSkew(): Promise<void> {
  const { id } = await system.operator.emptyAccount();
  const before = Date.now();
  await system.operator.credit(id, '1.00');
  const [entry] = await system.operator.all<LedgerTransactionView>(`/accounts/${id}/ledger`);
  expect(timeOfUuidV7(entry?.id ?? '')).toBeGreaterThanOrEqual(before + SKEWS['billing-1']);
}

/**
 * Waits until the edges know the time of the limit store. An edge learns it from its first reply,
 * so the first request has an ID with the wrong time.
 */
async function loadTime(): Promise<void> {
  const arranged = await verification.arrange(limitCalled('wallet'), CALLS);
  await until('both edges know the time', async () => {
    const seen = await verification.send(arranged, REPLICAS['edge-proxy']);
    return seen.every(({ answer }) => !answer.endsWith('admission_error'));
  });
}

interface Scenes {
  readonly minute: ArrangedLimit;
  readonly week: ArrangedLimit;
  readonly month: ArrangedLimit;
  readonly paid: ArrangedLimit;
  /** Requests of the four accounts in this order. */
  readonly seen: readonly PressedCall[][];
  /** Sends this number of requests for each account. */
  pressAll(calls: number): Promise<unknown>;
}

/**
 * Creates accounts with one limit each and uses up the limits in the last seconds of their periods.
 */
async function useUp(): Promise<Scenes> {
  const minute = await verification.arrange(limitCalled('requests per minute'), FIT);
  const week = await verification.arrange(limitCalled('weekly in requests'), FIT);
  const month = await verification.arrange(limitCalled('cap of a key'), FIT);
  const paid = await verification.arrange(limitCalled('monthly in requests'), FIT);
  await endsAtBoundary(paid);
  const all = [minute, week, month, paid];
  const seen = all.map((): PressedCall[] => []);
  const pressAll = (calls: number): Promise<unknown> =>
    Promise.all(
      all.map(async (arranged, index) => {
        seen[index]?.push(...(await verification.send(arranged, calls, 20)));
      }),
    );
  await until('the last seconds of the periods', () => verification.nowMs() > BOUNDARY_MS - USED_UP_MS, leadMs);
  await pressAll(3 * FIT);
  return { minute, week, month, paid, seen, pressAll };
}

// Covers a month, week or session ends in mid-call
test.concurrent('each period admits exactly its limit when all periods end under load', async () => {
  const { minute, pressAll, seen } = scenes;
  await until('the last second of the periods', () => verification.nowMs() > BOUNDARY_MS - 1_000, MINUTE_MS);
  while (verification.nowMs() < BOUNDARY_MS + AFTER_MS) await pressAll(20);
  await pressAll(2 * FIT);
  const { week, month, paid } = scenes;
  for (const arranged of [minute, week, month, paid]) await verification.limitStoreIsEmpty(arranged);

  const [ofMinute = [], ofWeek = [], ofMonth = [], ofPaid = []] = seen;
  const minutes = await verification.minutes(minute, BOUNDARY_MS - leadMs);
  expect(answered(ofMinute)).toBe(minutes.reduce((sum, count) => sum + Math.min(count, FIT), 0));
  // Each request counts once. A refused request was sent again if its reply was late, and then
  // counts twice.
  expect(minutes.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(ofMinute.length);
  expect([...new Set(ofMinute.map(({ answer }) => answer))].sort()).toEqual(['200', '429 rate_limited']);

  const weeks = [BOUNDARY_MS - WEEK_MS, BOUNDARY_MS].map((start) => weeklyWindowRow('requests', start));
  await expectSettled(week, weeks, FIT);
  expectAtBoundary(ofWeek, '429 window_exhausted');
  for (const { answer, retryAfter, begunAt, endedAt } of ofWeek) {
    if (answer !== '429 window_exhausted') continue;
    const resets = endedAt < BOUNDARY_MS ? BOUNDARY_MS : BOUNDARY_MS + WEEK_MS;
    if (begunAt < BOUNDARY_MS && endedAt >= BOUNDARY_MS) continue;
    expect(retryAfter).toBeGreaterThanOrEqual(Math.ceil((resets - endedAt) / 1000));
    expect(retryAfter).toBeLessThanOrEqual(Math.ceil((resets - begunAt) / 1000));
  }

  const months = [BOUNDARY_MS - 1, BOUNDARY_MS].map((at) => keyMonthRow(month.key, monthOf(at)));
  await expectSettled(month, months, FIT * Number(CENT_NANO_USD));
  expectAtBoundary(ofMonth, '403 monthly_spend_cap_exceeded');

  expect(answered(ofPaid)).toBe(FIT);
  expect(ofPaid.map(({ answer }) => answer)).toContain('402 no_funding');
  for (const { answer, begunAt, endedAt } of ofPaid) {
    // Without a plan, the account has the default limits: above 60 requests per minute, the
    // minute limit refuses first.
    if (begunAt >= BOUNDARY_MS) expect(['402 no_funding', '429 rate_limited']).toContain(answer);
    else if (endedAt < BOUNDARY_MS) expect(['200', '429 window_exhausted', FAILED]).toContain(answer);
  }
}, 120_000);

// These tests begin after the end of the periods.
test.concurrent.each([
  'requests per minute',
  'session_5h in requests',
  'weekly in requests',
  'monthly in requests',
  'cap of a key',
])(
  '%s: the limit and Retry-After are exact while all clocks are wrong',
  async (name) => {
    await until('the periods have ended', () => verification.nowMs() > BOUNDARY_MS + AFTER_MS, MINUTE_MS);
    const { differences } = await verification.verify(limitCalled(name), CALLS, FIT);
    expect(differences).toEqual([]);
  },
  60_000,
);

const FAILED = '500 upstream_error';

/** Keeps the plan of the account, but ends its period together with the others. */
async function endsAtBoundary({ account, period }: LimitedAccount): Promise<void> {
  const { planId } = await system.operator.must<{ planId: string }>('GET', `/accounts/${account}/subscription`);
  await system.operator.subscribe(account, planId, { startMs: period?.startMs ?? 0, endMs: BOUNDARY_MS });
}

/**
 * Expects `FIT` successful requests before the boundary and `FIT` after it. The others were refused
 * or failed at the provider.
 */
function expectAtBoundary(seen: readonly PressedCall[], refusal: string): void {
  const before = seen.filter(({ endedAt }) => endedAt < BOUNDARY_MS);
  const after = seen.filter(({ begunAt }) => begunAt >= BOUNDARY_MS);
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

/**
 * Returns 00:00 UTC of the next month that begins on a Monday, which is at most eleven months away.
 */
function nextMonthOnMonday(now: number): number {
  const date = new Date(now);
  for (let months = 1; ; months += 1) {
    const first = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1));
    if (first.getUTCDay() === 1) return first.getTime();
  }
}
