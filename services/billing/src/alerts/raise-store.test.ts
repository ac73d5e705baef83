import { beforeEach, expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import type { UsageEvent } from '@gateway/contracts/messages';
import { weekStart } from '@gateway/metering';
import { inTransaction, onPool, type Tx } from '@gateway/postgres';
import { testSeed } from '@gateway/testkit/seed';
import { duringTests } from '@gateway/testkit/during-tests';
import {
  toExpiredEvent,
  toReceivedEvents,
  createHold,
  createPlanHold,
  seededRandom,
  createSettledEvent,
  START,
  toVoidedEvent,
} from '../../test/events.js';
import { startLedger } from '../../test/ledger-world.js';
import { createMonths } from '../ledger/months.js';
import type { PlanSpec } from '../plans/rules.js';
import { planToStored } from '../plans/store.js';
import { settleBatch } from '../usage/settle-batch.js';
import { createSettlementStore } from '../usage/commit/settlement-store.js';
import { createDeliveryStore } from '../webhooks/delivery-store.js';
import { createWebhookStore } from '../webhooks/store.js';
import { createAlertRaiser } from './raise-store.js';
import { createAlertStore } from './store.js';
import { AUTHOR } from '../../test/ledger-verbs.js';

const SEED = testSeed();

const ledger = duringTests(startLedger);
let store: ReturnType<typeof createSettlementStore>;
beforeEach(async () => {
  await ledger.empty();
  store = createSettlementStore(ledger.pool);
});

const settle = (events: readonly UsageEvent[], by = store) =>
  settleBatch(by, createMonths(by), { received: toReceivedEvents(...events), deadLetters: [], applied: [] });

const cap = (account: string, capNanoUsd: bigint | null, kind: 'key' | 'member' = 'key', version = 1) =>
  createAlertStore(ledger.pool).applyCaps(account, [{ kind, id: `${kind}-${account}`, capNanoUsd, version }]);

const WINDOWS: PlanSpec['windows'] = [
  { type: 'session_5h', unit: 'usd', limit: 100n, label: 'Session' },
  { type: 'weekly', unit: 'usd', limit: 1_000n, label: 'Week' },
  { type: 'weekly', unit: 'requests', limit: 2n, label: 'Calls' },
  { type: 'monthly', unit: 'usd', limit: 10_000n, label: 'Month' },
];

/** Creates the period that the tests' holds name, on a separate plan. */
async function subscribe(account: string, windows = WINDOWS, version = 1): Promise<void> {
  const sql = onPool(ledger.admin);
  const plan = planToStored({
    name: 'Pro',
    tier: 'pro',
    models: null,
    requestsPerMinute: 60,
    concurrency: 10,
    windows,
    allotments: [],
    defaultKeyCapNanoUsd: null,
    activeKeysMax: 3,
  });
  await sql.execute('INSERT INTO accounts (account) VALUES ($1) ON CONFLICT DO NOTHING', [account]);
  await sql.execute('INSERT INTO plan_versions (plan_id, version, spec, created_by) VALUES ($1, $2, $3, $4)', [
    ...['pro', version, JSON.stringify(plan), 'test'],
  ]);
  await sql.execute(
    `INSERT INTO subscription_periods
       (id, account, plan_id, plan_version, period_start, period_end, renews, created_by)
     VALUES ('sub-1', $1, 'pro', $2, to_timestamp($3), to_timestamp($4), false, 'test')
     ON CONFLICT (id) DO UPDATE SET plan_version = excluded.plan_version`,
    [account, version, START / 1_000 - 86_400, START / 1_000 + 86_400],
  );
  await sql.execute('UPDATE accounts SET version = version + 1, terms_version = version + 1 WHERE account = $1', [
    account,
  ]);
}

async function raised(): Promise<string[]> {
  const rows = await onPool(ledger.pool).query<{ text: string }>(
    `SELECT subject || ' ' || period || ' ' || threshold AS text FROM alerts ORDER BY number`,
  );
  return rows.map(({ text }) => text);
}
const published = () =>
  onPool(ledger.pool).query<{ key: string; body: object }>('SELECT key, body FROM alert_outbox ORDER BY id');
const toHooks = () =>
  onPool(ledger.pool).query<{ key: string; body: object }>('SELECT key, body FROM webhook_outbox ORDER BY id');

const km = (threshold: number, account = 'a') => `km:key-${account} 2026-11 ${threshold}`;

test('an alert that a restored ledger raises again has the same ID', async () => {
  const ids = async (): Promise<string[]> => {
    await cap('a', 100n);
    await settle([createSettledEvent(createHold('a'), 80)], createSettlementStore(ledger.pool));
    const rows = await onPool(ledger.pool).query<{ id: string }>('SELECT id FROM alerts ORDER BY number');
    return rows.map(({ id }) => id);
  };
  const before = await ids();
  await ledger.empty();
  expect(await ids()).toEqual(before);
  expect(new Set(before).size).toBe(2);
  for (const id of before) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
});

test('a promoted database that lost the alert raises it again while billing runs', async () => {
  const raiser = createAlertRaiser();
  const row = { account: 'a', name: 'km:key-a:2026-11', value: 60n, version: 1n };
  const raise = async (database: string): Promise<string[]> => {
    const batch = {
      decision: { records: [], changedRows: [row] },
      before: [],
      limits: new Map([['a', '1']]),
      database,
    };
    raiser.committed(await inTransaction(ledger.pool, (tx) => raiser.raise(tx, batch)));
    return raised();
  };
  const begin = async (): Promise<void> => {
    await onPool(ledger.admin).execute('INSERT INTO accounts (account) VALUES ($1)', ['a']);
    await cap('a', 100n);
  };
  await begin();
  expect(await raise('of timeline 1')).toEqual([km(50)]);
  await ledger.empty();
  await begin();
  expect(await raise('of timeline 1')).toEqual([]);
  expect(await raise('of timeline 2')).toEqual([km(50)]);
});

test('a key cap raises each threshold once, in the order of the charges', async () => {
  await cap('a', 100n);
  for (const amount of [49, 1, 24, 1, 1, 14, 9, 1, 300]) await settle([createSettledEvent(createHold('a'), amount)]);
  expect(await raised()).toEqual([km(50), km(75), km(90), km(100)]);
  const rows = await published();
  expect(rows.map(({ key }) => key)).toEqual(['a', 'a', 'a', 'a']);
  expect(rows[1]?.body).toMatchObject({
    account: 'a',
    subject: { kind: 'key_cap', keyId: 'key-a' },
    threshold: 75,
    limit: 100,
    used: 75,
    periodStart: Date.UTC(2026, 10, 1),
    periodEnd: Date.UTC(2026, 11, 1),
  });
  expect(await toHooks()).toEqual([]);
});

test('one charge may reach all thresholds; a batch raises the alerts of each account', async () => {
  await Promise.all([cap('a', 100n), cap('b', 100n), cap('b', 50n, 'member'), cap('c', 1_000n)]);
  await settle([
    createSettledEvent(createHold('a'), 100),
    createSettledEvent(createHold('b'), 30),
    createSettledEvent(createHold('c'), 30),
  ]);
  expect(await raised()).toEqual([km(50), km(75), km(90), km(100), 'mm:member-b 2026-11 50']);
});

test('plan windows raise in USD and in calls; a call without the plan touches none', async () => {
  await subscribe('a');
  await settle([createSettledEvent(createPlanHold('a', 60, 0), 60), createSettledEvent(createHold('a'), 900)]);
  const [week, session] = [weekStart(START), START - 60_000];
  expect(await raised()).toEqual([`w:session_5h:usd ${session} 50`, `w:weekly:requests ${week} 50`]);
  await settle([createSettledEvent(createPlanHold('a', 60, 0), 60)]);
  expect((await raised()).slice(2)).toEqual([
    ...[75, 90, 100].map((threshold) => `w:session_5h:usd ${session} ${threshold}`),
    ...[75, 90, 100].map((threshold) => `w:weekly:requests ${week} ${threshold}`),
  ]);
  await settle([createSettledEvent(createPlanHold('a', 5_000, 0), 4_880)]);
  expect((await raised()).slice(8)).toEqual([
    `w:monthly:usd sub-1 50`,
    ...[50, 75, 90, 100].map((threshold) => `w:weekly:usd ${week} ${threshold}`),
  ]);
  const alerts = await createAlertStore(ledger.pool).alerts({ account: 'a', before: null, limit: 100 });
  expect(alerts.find(({ alert }) => alert.limit === 10_000n)?.alert).toMatchObject({
    subject: { kind: 'window', type: 'monthly', unit: 'usd' },
    used: 5_000n,
    periodStart: START - 86_400_000,
    periodEnd: START + 86_400_000,
  });
});

test('a balance that is corrected down and charged again raises nothing twice', async () => {
  await subscribe('a', [{ type: 'weekly', unit: 'usd', limit: 100n, label: 'Week' }]);
  await cap('a', 100n);
  const late = createSettledEvent(createPlanHold('a', 1_000, 0), 60);
  await settle([toExpiredEvent(late)]);
  await settle([late]);
  const before = await raised();
  expect(before).toEqual([km(50), `w:weekly:usd ${weekStart(START)} 50`]);
  // No usage event reduces a charge, so the test changes the balance itself.
  await onPool(ledger.pool).execute("UPDATE balances SET value = 10 WHERE name LIKE 'km:%' OR name LIKE 'w:%'");
  for (const by of [store, createSettlementStore(ledger.pool)])
    await settle([createSettledEvent(createPlanHold('a', 1_000, 0), 25)], by);
  expect(await raised()).toEqual(before);
  await settle([toVoidedEvent(createSettledEvent(createHold('a'), 1_000))]);
  expect(await raised()).toEqual(before);
});

test('a limit that falls below the use raises at the next charge, despite the cache', async () => {
  await subscribe('a', [{ type: 'weekly', unit: 'usd', limit: 1_000n, label: 'Week' }]);
  await cap('a', 1_000n, 'member');
  await settle([createSettledEvent(createPlanHold('a', 1_000, 0), 80)]);
  await subscribe('a', [{ type: 'weekly', unit: 'usd', limit: 100n, label: 'Week' }], 2);
  await cap('a', 90n, 'member', 2);
  expect(await raised()).toEqual([]);
  await settle([createSettledEvent(createPlanHold('a', 1_000, 0), 1)]);
  const week = weekStart(START);
  expect(await raised()).toEqual([
    ...['mm:member-a 2026-11 50', 'mm:member-a 2026-11 75', 'mm:member-a 2026-11 90'],
    ...[`w:weekly:usd ${week} 50`, `w:weekly:usd ${week} 75`],
  ]);
});

test('a cap of an older version and a removed cap limit nothing', async () => {
  await cap('a', 100n, 'key', 3);
  await cap('a', 10n, 'key', 2);
  await settle([createSettledEvent(createHold('a'), 20)]);
  expect(await raised()).toEqual([]);
  await cap('a', null, 'key', 4);
  await settle([createSettledEvent(createHold('a'), 100)]);
  expect(await raised()).toEqual([]);
});

test('another month is another period', async () => {
  await cap('a', 100n);
  const december = { ...createHold('a').periods, month: '2026-12' };
  await settle([
    createSettledEvent(createHold('a'), 50),
    createSettledEvent(createHold('a', { periods: december }), 50),
  ]);
  expect(await raised()).toEqual([km(50), 'km:key-a 2026-12 50']);
});

test('an enabled webhook gets the event, a disabled one does not', async () => {
  const webhooks = createWebhookStore(ledger.pool);
  await Promise.all([cap('a', 100n), cap('b', 100n)]);
  for (const [account, enabled] of [
    ['a', true],
    ['b', false],
  ] as const)
    await webhooks.putWebhook({ account, enabled, url: 'https://h.example.com/', sealedSecret: 's', author: AUTHOR });
  await settle([createSettledEvent(createHold('a'), 76), createSettledEvent(createHold('b'), 76)]);
  const events = await toHooks();
  expect(events.map(({ key }) => key)).toEqual(['a', 'a']);
  expect(events[0]?.body).toMatchObject({
    type: 'alert.raised',
    data: { accountId: 'a', thresholdPercent: 50, limit: '0.0000001', used: '0.000000076' },
  });
  expect(await createDeliveryStore(ledger.pool).deliveries({ account: 'a', before: null, limit: 9 })).toHaveLength(2);
});

test('a charge below the next threshold queries nothing once its limits are cached', async () => {
  await cap('a', 1_000n);
  const watch = createAlertRaiser();
  const batch = (value: bigint) => ({
    decision: { records: [], changedRows: [{ account: 'a', name: 'km:key-a:2026-11', value, version: 1n }] },
    before: [],
    database: '',
    limits: new Map([['a', '0.1']]),
  });
  let statements = 0;
  const counting = (tx: Tx): Tx => ({
    ...tx,
    query: (...args: Parameters<Tx['query']>) => ((statements += 1), tx.query(...args)) as never,
    execute: (...args) => ((statements += 1), tx.execute(...args)),
  });
  const raise = async (value: bigint): Promise<number> => {
    statements = 0;
    watch.committed(await inTransaction(ledger.pool, (tx) => watch.raise(counting(tx), batch(value))));
    return statements;
  };
  expect(await raise(1n)).toBeGreaterThan(0);
  expect(await raise(499n)).toBe(0);
  expect(await raise(500n)).toBeGreaterThan(0);
  expect(await raise(749n)).toBe(0);
  expect(await raised()).toEqual([km(50)]);
});

test('a threshold that a rolled back transaction crossed is raised by the next one', async () => {
  await cap('a', 100n);
  await settle([createSettledEvent(createHold('a'), 10)]);
  const broken = createSettledEvent(createHold('a'), 60);
  await onPool(ledger.admin).execute('ALTER TABLE call_records ADD CONSTRAINT broken CHECK (charged_nano_usd <> 60)');
  await expect(settle([broken])).rejects.toThrow();
  await onPool(ledger.admin).execute('ALTER TABLE call_records DROP CONSTRAINT broken');
  expect(await raised()).toEqual([]);
  await settle([broken]);
  expect(await raised()).toEqual([km(50)]);
});

test(`concurrent processes raise and publish each alert once (TEST_SEED=${SEED})`, async () => {
  const random = seededRandom(SEED);
  const accounts = Array.from({ length: 5 }, (_, index) => `p${index}`);
  for (const account of accounts) await cap(account, 1_000n);
  const events = accounts.flatMap((account) =>
    Array.from({ length: 60 }, () => createSettledEvent(createHold(account), 20, { id: makeUuidV7(START) })),
  );
  const stores = [1, 2, 3].map(() => createSettlementStore(ledger.pool));
  await Promise.all(
    stores.map(async (by) => {
      // Each process gets every event, in a different order.
      const own = [...events].sort(() => random() - 0.5);
      for (let at = 0; at < own.length; at += 7) await settle(own.slice(at, at + 7), by);
    }),
  );
  const expected = accounts.flatMap((account) => [50, 75, 90, 100].map((threshold) => km(threshold, account)));
  expect((await raised()).sort()).toEqual(expected.sort());
  const deliveries = await published();
  expect(deliveries).toHaveLength(expected.length);
  for (const account of accounts)
    expect(deliveries.filter(({ key }) => key === account).map(({ body }) => body)).toMatchObject(
      [50, 75, 90, 100].map((threshold) => ({ threshold })),
    );
}, 60_000);
