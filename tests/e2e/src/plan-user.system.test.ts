import { afterAll, expect, test } from '@jest/globals';
import type { UsageObject } from '@gateway/contracts/public';
import { SESSION_5H_MS, WEEK_MS, monthlyWindowRow, weekStart, weeklyWindowRow } from '@gateway/metering';
import { until } from '@gateway/testkit';
import { HELLO, chat } from '../test/call.js';
import type { TestResponse } from '../test/call.js';
import { startCountingProvider } from '../test/counting-provider.js';
import { connectRedis, isEmpty, readLimitStore, readSettled } from '../test/limit-store.js';
import type { TestPeriod } from '../test/operator.js';
import { sharedSystem } from '../test/system.js';
import { readUsage } from './limits/judge-limit.js';
import { CENT } from '../test/prices.js';
import { press } from './limits/press-limit.js';

/**
 * The provider reports ten output tokens, which cost one cent. A request without an output limit
 * can have 8,192 output tokens, so its worst case is 8.192 USD, far more than the whole window.
 */
const DEAR = { inputPerMillion: '0', outputPerMillion: '1000.00' };
const DAY_MS = 86_400_000;
const NANO_USD = 1e9;

const system = sharedSystem();
const provider = await startCountingProvider();
const redis = connectRedis(system.redisUrl);
afterAll(async () => {
  redis.disconnect();
  await provider.close();
});

interface User {
  readonly account: string;
  readonly secret: string;
}

/** Returns a period that began yesterday. */
function period(): TestPeriod {
  const now = Date.now();
  return { startMs: now - DAY_MS, endMs: now + 29 * DAY_MS };
}

async function subscriber(planId: string, running: TestPeriod, creditUsd: string | null): Promise<User> {
  const { id } = await system.operator.emptyAccount();
  if (creditUsd !== null) await system.operator.credit(id, creditUsd);
  await system.operator.subscribe(id, planId, running);
  return { account: id, ...(await system.operator.key(id)) };
}

function call({ secret }: User, model: string, edge = 0): Promise<TestResponse> {
  return chat(`${system.edgeUrls[edge]}/v1/chat/completions`, secret, { model, messages: HELLO });
}

function usageOf({ secret }: User, edge = 0): Promise<UsageObject> {
  return readUsage(system.edgeUrls[edge] ?? '', secret);
}

/** Sends a request, expects this charge, and waits until the limit store has settled it. */
async function paid(user: User, model: string, planUsd: string, walletUsd: string): Promise<void> {
  const answer = await call(user, model);
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"usage"')]);
  const { record } = await system.operator.record(answer.requestId);
  expect([record.outcome, record.planUsd, record.walletUsd]).toEqual(['settled', planUsd, walletUsd]);
  await until('the limit store has settled the request', async () =>
    isEmpty(await readLimitStore(redis, user.account)),
  );
}

/** Expects a refusal until Monday that the client should not retry. */
async function exhausted(user: User, model: string): Promise<void> {
  const before = Date.now();
  const { status, text, headers } = await call(user, model);
  const after = Date.now();
  expect([status, JSON.parse(text)]).toMatchObject([
    429,
    { error: { code: 'window_exhausted', type: 'rate_limit_error' } },
  ]);
  const retryAfter = Number(headers['retry-after']);
  expect(retryAfter).toBeGreaterThanOrEqual(Math.ceil((weekStart(after) + WEEK_MS - after) / 1000));
  expect(retryAfter).toBeLessThanOrEqual(Math.ceil((weekStart(before) + WEEK_MS - before) / 1000));
  expect(headers['x-should-retry']).toBe('false');
}

const WEEKLY = { type: 'weekly', unit: 'usd', label: 'Weekly' } as const;
const MONTHLY = { type: 'monthly', unit: 'requests', label: 'Monthly' } as const;

/** Expects these windows at both edges, with the usage of the limit store's settled rows. */
async function expectUsage(user: User, weekly: object, monthly: object): Promise<void> {
  const [usage, other] = [await usageOf(user, 0), await usageOf(user, 1)];
  expect(usage.windows).toMatchObject([
    { ...WEEKLY, ...weekly },
    { ...MONTHLY, ...monthly },
  ]);
  expect(other).toEqual(usage);
  const { id } = await system.operator.must<{ id: string }>('GET', `/accounts/${user.account}/subscription`);
  const week = await readSettled(redis, user.account, weeklyWindowRow('usd', weekStart(Date.now())));
  const month = await readSettled(redis, user.account, monthlyWindowRow('requests', id));
  expect(usage.windows.map(({ used }) => used)).toEqual([(week ?? 0) / NANO_USD, month ?? 0]);
}

test('a plan window is used up exactly and then refuses requests until the plan grows', async () => {
  const planned = await system.operator.model(DEAR, [provider.url]);
  const other = await system.operator.model(CENT, [provider.url]);
  const windowsOf = (weeklyUsd: string) => [
    { ...WEEKLY, limit: weeklyUsd },
    { ...MONTHLY, limit: 1_000 },
  ];
  const plan = await system.operator.plan({ models: [planned.id], windows: windowsOf('0.05') });
  const running = period();
  const user = await subscriber(plan, running, '1.00');
  await expectUsage(user, { limit: 0.05, used: 0, remaining: 0.05, percentUsed: 0 }, { used: 0 });

  for (let used = 1; used <= 5; used += 1) {
    await paid(user, planned.id, '0.01', '0.00');
    const shown = { used: used / 100, remaining: (5 - used) / 100, percentUsed: used * 20 };
    await expectUsage(user, { limit: 0.05, ...shown }, { used, remaining: 1_000 - used });
  }
  await exhausted(user, planned.id);
  await exhausted(user, planned.id);
  expect(await system.operator.walletUsd(user.account)).toBe('1.00');
  // The wallet pays for a model outside the plan, and no window counts the request.
  await paid(user, other.id, '0.00', '0.01');
  expect(await system.operator.walletUsd(user.account)).toBe('0.99');
  await expectUsage(user, { used: 0.05, remaining: 0, percentUsed: 100 }, { used: 5 });

  const bigger = await system.operator.plan({ models: [planned.id], windows: windowsOf('0.08') });
  await system.operator.subscribe(user.account, bigger, running);
  await expectUsage(user, { limit: 0.08, used: 0.05, remaining: 0.03, percentUsed: 62 }, { used: 5 });
  for (let more = 0; more < 3; more += 1) await paid(user, planned.id, '0.01', '0.00');
  await exhausted(user, planned.id);
  await expectUsage(user, { limit: 0.08, used: 0.08, remaining: 0, percentUsed: 100 }, { used: 8 });

  // A new period resets only the windows that count by period.
  const biggest = await system.operator.plan({ models: [planned.id], windows: windowsOf('0.10') });
  await system.operator.subscribe(user.account, biggest, { ...running, startMs: Date.now() - 1_000 });
  await expectUsage(user, { limit: 0.1, used: 0.08, percentUsed: 80 }, { used: 0, percentUsed: 0 });
  await paid(user, planned.id, '0.01', '0.00');
  await expectUsage(user, { used: 0.09, percentUsed: 90 }, { used: 1 });
  await paid(user, other.id, '0.00', '0.01');
  expect(await system.operator.walletUsd(user.account)).toBe('0.98');
});

test('the last request of a window is paid by the plan and then by the wallet, if any', async () => {
  const { id: model } = await system.operator.model(DEAR, [provider.url]);
  const plan = await system.operator.plan({ windows: [{ ...WEEKLY, limit: '0.015' }] });
  const running = period();
  const withWallet = await subscriber(plan, running, '1.00');
  await paid(withWallet, model, '0.01', '0.00');
  await paid(withWallet, model, '0.005', '0.005');
  await exhausted(withWallet, model);
  expect(await system.operator.walletUsd(withWallet.account)).toBe('0.995');

  const without = await subscriber(plan, running, null);
  await paid(without, model, '0.01', '0.00');
  await paid(without, model, '0.01', '0.00');
  await exhausted(without, model);
  expect(await system.operator.walletUsd(without.account)).toBeNull();
  for (const user of [withWallet, without]) {
    const { windows } = await usageOf(user);
    expect(windows[0]).toMatchObject({ limit: 0.015, remaining: 0, percentUsed: 100 });
  }
});

test('a new plan version applies to new subscriptions; accounts can override limits', async () => {
  const { id: model } = await system.operator.model(CENT, [provider.url]);
  const planId = await system.operator.plan({ windows: [{ ...WEEKLY, limit: '0.01' }] });
  const running = period();
  const early = await subscriber(planId, running, null);
  await paid(early, model, '0.01', '0.00');
  const spec = { name: 'End to end', tier: 'e2e', models: null, windows: [{ ...WEEKLY, limit: '0.02' }] };
  await system.operator.must('PUT', `/plans/${planId}`, spec);
  await exhausted(early, model);
  const late = await subscriber(planId, running, null);
  await paid(late, model, '0.01', '0.00');
  await paid(late, model, '0.01', '0.00');
  await exhausted(late, model);
  await system.operator.limits(late.account, 1, 1);
  // The limit is one request per minute. If a new minute begins, one more request succeeds first.
  await until('the minute refuses', async () => (await call(late, model)).text.includes('rate_limited'));
});

test('the usage endpoint shows the usage that the limit store has settled under load', async () => {
  const fit = 60;
  const { id: model } = await system.operator.model(CENT, [provider.url]);
  const windows = [
    { type: 'weekly', unit: 'requests', limit: fit },
    { type: 'session_5h', unit: 'usd', limit: '100.00' },
  ] as const;
  const plan = await system.operator.plan({ windows: [...windows], concurrency: 50, requestsPerMinute: 10_000 });
  const user = await subscriber(plan, period(), null);
  const begunAt = Date.now();
  const closed = await usageOf(user);
  expect(closed.windows[1]).toMatchObject({ used: 0, percentUsed: 0 });
  expect(Date.parse(closed.windows[1]?.resetsAt ?? '')).toBeGreaterThanOrEqual(begunAt + SESSION_5H_MS);
  const row = weeklyWindowRow('requests', weekStart(begunAt));
  const settled = async (): Promise<number> => (await readSettled(redis, user.account, row)) ?? 0;
  let isOver = false;
  const looks = (async () => {
    let count = 0;
    for (; !isOver; count += 1) {
      const before = await settled();
      const { windows: shown } = await usageOf(user, count % 2);
      const [weekly] = shown;
      const after = await settled();
      expect(weekly?.used).toBeGreaterThanOrEqual(before);
      expect(weekly?.used).toBeLessThanOrEqual(after);
      expect(weekly?.percentUsed).toBe(Math.floor(((weekly?.used ?? 0) * 100) / fit));
      expect(weekly?.remaining).toBe(fit - (weekly?.used ?? 0));
    }
    return count;
  })();
  // Errors are thrown at the `await` below.
  looks.catch(() => undefined);
  const { edgeUrls } = system;
  const seen = await press({ edgeUrls, secret: user.secret, model, calls: 2 * fit, inFlight: 20 });
  await until('everything is settled', async () => (await settled()) === fit);
  isOver = true;
  expect(await looks).toBeGreaterThan(2);
  expect(seen.filter(({ answer }) => answer === '200')).toHaveLength(fit);
  const { windows: shown } = await usageOf(user);
  const firstEndedAt = Math.min(...seen.map(({ endedAt }) => endedAt));
  expect(shown).toMatchObject([
    { used: fit, remaining: 0, percentUsed: 100 },
    { used: fit / 100, label: 'Session (5 hours)' },
  ]);
  const opened = Date.parse(shown[1]?.resetsAt ?? '') - SESSION_5H_MS;
  expect(opened).toBeGreaterThanOrEqual(begunAt);
  expect(opened).toBeLessThanOrEqual(firstEndedAt);
});
