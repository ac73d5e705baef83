import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Bus } from '@gateway/bus';
import { makeUuidV7 } from '@gateway/contracts/ids';
import {
  admissionApply,
  billingFunding,
  billingAddWalletEntry,
  billingLedger,
  billingLoad,
  billingPutLimits,
  billingBalanceSnapshots,
  billingUnchanged,
  billingUsageRecord,
  billingUsageRecords,
  billingWallet,
  usageEvents,
  type ReceivedOf,
  type BalanceSnapshot,
  type UsageEvent,
} from '@gateway/contracts/messages';
import { onPool } from '@gateway/postgres';
import { until } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { expectAccepted } from '../test/accepted.js';
import { runAudit } from '../test/audit.js';
import { startBillingWorld } from '../test/billing-world.js';
import { toExpiredEvent, createHold, createSettledEvent } from '../test/events.js';
import { AUTHOR } from '../test/ledger-verbs.js';

// It kills NATS.
const world = duringTests(() => startBillingWorld({ own: true }));
let edge: Bus;
let admission: Bus;
let dashboard: Bus;
let accountsBus: Bus;
const snapshots: BalanceSnapshot[] = [];
const applied: ReceivedOf<typeof admissionApply>[] = [];

beforeAll(async () => {
  [edge, admission, dashboard, accountsBus] = await Promise.all([
    world.connect('edge-proxy'),
    world.connect('admission'),
    world.connect('dashboard'),
    world.connect('accounts'),
  ]);
  admission.subscribe(billingBalanceSnapshots, ({ accounts }) => void snapshots.push(...accounts));
  admission.serve(admissionApply, async (body) => {
    applied.push(body);
    return { applied: true as const };
  });
  await world.start('one');
}, 60_000);

let accounts = 0;
const freshAccount = (): string => `account-${(accounts += 1)}`;

async function record(...events: UsageEvent[]): Promise<void> {
  for (const event of events) await edge.store(usageEvents, { group: 0 }, { events: [event] });
}

const isClosed = (id: string): boolean => snapshots.some(({ closed }) => closed.includes(id));
const settledAll = (...events: UsageEvent[]): Promise<true> =>
  until('every event is listed in a snapshot', () => events.every(({ id }) => isClosed(id)));

const load = (account: string, changes: Partial<ReceivedOf<typeof billingLoad>> = {}, options = {}) =>
  admission.request(billingLoad, { account, names: [], ids: [], afterLoss: false, ...changes }, options);

const fund = (account: string, amountUsd: string, changes: object = {}) =>
  dashboard.request(billingAddWalletEntry, {
    account,
    spec: { amountUsd, kind: 'credit', reason: 'paid', reference: makeUuidV7(Date.now()), ...changes },
    author: AUTHOR,
  });

test('an event becomes a record, ledger entries, a snapshot and an acknowledgement', async () => {
  const account = freshAccount();
  const event = createSettledEvent(createHold(account), 1_234);
  await record(event);
  await settledAll(event);
  expect(snapshots.find(({ closed }) => closed.includes(event.id))).toMatchObject({
    account,
    rows: expect.arrayContaining([{ name: 'wallet', value: -1_234, version: 1 }]),
  });
  const shown = await dashboard.request(billingUsageRecord, { requestId: event.id });
  expect(shown).toMatchObject({
    record: {
      requestId: event.id,
      chargedUsd: '0.000001234',
      walletUsd: '0.000001234',
      planUsd: '0.00',
      costUsd: '0.000001234',
    },
    transactions: [{ id: event.id, kind: 'usage', requestId: event.id, entries: expect.any(Array) }],
  });
});

test('two processes settle each event once, and the remaining one takes over', async () => {
  const other = await world.start('two');
  const events = Array.from({ length: 200 }, (_, index) => createSettledEvent(createHold(`shared-${index % 20}`), 10));
  await record(...events.slice(0, 100));
  await settledAll(...events.slice(0, 100));
  await other.stop();
  await record(...events.slice(100));
  await settledAll(...events);
  expect(await runAudit(world.ledger.pool)).toEqual([]);
});

describe('billing.load', () => {
  test('returns no plan and no wallet for an unknown account', async () => {
    const account = freshAccount();
    const id = makeUuidV7(Date.now());
    const { snapshot } = await load(account, { names: ['km:k:2026-11'], ids: [id] });
    expect(snapshot).toEqual({
      account,
      rows: [
        { name: 'wallet', value: null, version: 0 },
        { name: 'km:k:2026-11', value: 0, version: 0 },
      ],
      terms: {
        value: {
          plan: null,
          requestsPerMinute: 60,
          concurrency: 3,
          models: [],
          windows: [],
          allotments: [],
          subscription: null,
        },
        version: 0,
      },
      closed: [],
    });
  });

  test('returns balances, closed IDs and the time up to which the stream is settled', async () => {
    const account = freshAccount();
    const event = createSettledEvent(createHold(account), 10);
    await record(event);
    await settledAll(event);
    const before = Date.now();
    await until('everything is settled', async () => (await load(account)).caughtUpTo >= before);
    const unknown = makeUuidV7(Date.now());
    const answer = await load(account, {
      names: [`km:${event.hold.key}:2026-11`],
      ids: [event.id, unknown],
      afterLoss: true,
    });
    expect(answer.snapshot.closed).toEqual([event.id]);
    expect(answer.snapshot.rows).toEqual(
      expect.arrayContaining([
        { name: 'wallet', value: -10, version: 1 },
        { name: `km:${event.hold.key}:2026-11`, value: 10, version: 1 },
      ]),
    );
  });

  test('contains the running subscription with its windows and allotments', async () => {
    const account = freshAccount();
    const now = Date.now();
    await onPool(world.ledger.pool).execute('INSERT INTO accounts (account) VALUES ($1)', [account]);
    await world.ledger.pool.query(
      `INSERT INTO plan_versions (plan_id, version, spec, created_by) VALUES ('pro', 1, $1, 'root')`,
      [
        JSON.stringify({
          name: 'Pro',
          tier: 'pro',
          models: null,
          requestsPerMinute: 100,
          concurrency: 10,
          activeKeysMax: 5,
          defaultKeyCapNanoUsd: 7,
          windows: [{ type: 'weekly', unit: 'usd', limit: 9_000_000_000_000_000, label: 'Weekly' }],
          allotments: [{ model: 'acme/one', unit: 'requests', limit: 3 }],
        }),
      ],
    );
    await world.ledger.pool.query(
      `INSERT INTO subscription_periods (id, account, plan_id, plan_version, period_start, period_end, renews, created_by)
       VALUES ('sub-9', $1, 'pro', 1, now() - interval '1 day', now() + interval '1 day', true, 'root')`,
      [account],
    );
    const stale = now - 30 * 86_400_000;
    const names = [
      `w:session_5h:usd:${now - 1_000}`,
      `w:session_5h:usd:${stale}`,
      'w:monthly:usd:sub-9',
      'w:monthly:usd:sub-8',
      'al:requests:acme/one:sub-9',
      'al:requests:acme/one:sub-8',
    ];
    for (const name of names)
      await world.ledger.pool.query('INSERT INTO balances VALUES ($1, $2, 4, 1)', [account, name]);
    const { snapshot } = await load(account);
    expect(snapshot.terms?.value).toMatchObject({
      plan: { id: 'pro', tier: 'pro' },
      models: null,
      subscription: { id: 'sub-9' },
      windows: [{ limit: 9_000_000_000_000_000 }],
      allotments: [{ model: 'acme/one', limit: 3 }],
    });
    expect(snapshot.rows.map(({ name }) => name).sort()).toEqual([names[0], names[2], names[4], 'wallet'].sort());
    expect(await accountsBus.request(billingFunding, { account })).toEqual({
      walletNanoUsd: null,
      planActive: true,
      activeKeysMax: 5,
      defaultKeyCapNanoUsd: 7,
      inLedger: true,
    });
    await world.ledger.admin.query('DELETE FROM billing.balances WHERE account = $1', [account]);
  });

  // Covers r11; Redis is lost and billing is behind
  test('reports no later time than the settled one, and fails after a loss', async () => {
    const account = freshAccount();
    const locked = createSettledEvent(createHold(account), 10);
    await record(locked);
    await settledAll(locked);
    const holder = await world.ledger.admin.connect();
    try {
      await holder.query('BEGIN');
      await holder.query('SELECT FROM billing.accounts WHERE account = $1 FOR UPDATE', [account]);
      const waiting = createSettledEvent(createHold(account), 10);
      await record(waiting);
      const storedBefore = Date.now();
      expect((await load(account)).caughtUpTo).toBeLessThanOrEqual(storedBefore);
      const asked = load(account, { afterLoss: true }, { timeoutMs: 10_000 });
      await expect(asked).rejects.toMatchObject({ code: 'behind' });
      expect((await load(account, { ids: [waiting.id] })).snapshot.closed).toEqual([]);
      await holder.query('COMMIT');
      await settledAll(waiting);
      await until('it is settled', async () => (await load(account)).caughtUpTo > storedBefore);
      const answer = await load(account, { afterLoss: true, ids: [waiting.id] });
      expect(answer.snapshot.closed).toEqual([waiting.id]);
    } finally {
      holder.release(true);
    }
  });
});

test('billing.unchanged returns accounts without newer versions, once all is settled', async () => {
  const account = freshAccount();
  const first = createSettledEvent(createHold(account), 10);
  await record(first);
  await settledAll(first);
  const { snapshot } = await load(account, { names: [`km:${first.hold.key}:2026-11`] });
  const rows = snapshot.rows.map(({ name, version }) => ({ name, version }));
  const ask = () =>
    admission.request(billingUnchanged, {
      accounts: [{ account, termsVersion: snapshot.terms?.version ?? 0, rows }],
    });
  expect(await ask()).toMatchObject({ accounts: [{ account, version: 1 }] });
  const holder = await world.ledger.admin.connect();
  try {
    await holder.query('BEGIN');
    await holder.query('SELECT FROM billing.accounts WHERE account = $1 FOR UPDATE', [account]);
    const second = createSettledEvent(createHold(account), 10);
    await record(second);
    await expect(ask()).rejects.toMatchObject({ code: 'behind' });
    await holder.query('COMMIT');
    await settledAll(second);
    expect(await ask()).toMatchObject({ accounts: [] });
  } finally {
    holder.release(true);
  }
});

describe('wallet entries', () => {
  test('are in force when they are answered', async () => {
    const account = freshAccount();
    const answer = await fund(account, '12.50');
    expect(answer).toMatchObject({
      balanceUsd: '12.50',
      repeated: false,
      transaction: {
        kind: 'credit',
        entries: [
          { ledgerAccount: `wallet:${account}`, amountUsd: '12.50' },
          { ledgerAccount: 'funding', amountUsd: '-12.50' },
        ],
      },
    });
    expect(applied.flatMap(({ snapshots }) => snapshots?.accounts ?? [])).toContainEqual({
      account,
      rows: [{ name: 'wallet', value: 12_500_000_000, version: 1 }],
      closed: [],
    });
    expect(await dashboard.request(billingWallet, { account })).toEqual({ balanceUsd: '12.50' });
  });

  test('with one reference are written once, despite concurrent requests', async () => {
    const account = freshAccount();
    const reference = makeUuidV7(Date.now());
    const answers = await Promise.all(Array.from({ length: 8 }, () => fund(account, '3.00', { reference })));
    expect(answers.filter((answer) => 'repeated' in answer && !answer.repeated)).toHaveLength(1);
    expect(new Set(answers.map((answer) => ('transaction' in answer ? answer.transaction.id : '')))).toHaveProperty(
      'size',
      1,
    );
    expect(await dashboard.request(billingWallet, { account })).toEqual({ balanceUsd: '3.00' });
  });

  test('with one reference are written for one of several accounts', async () => {
    const reference = makeUuidV7(Date.now());
    const answers = await Promise.all([1, 2, 3, 4].map(() => fund(freshAccount(), '3.00', { reference })));
    expect(answers.filter((answer) => 'transaction' in answer)).toHaveLength(1);
    expect(
      answers.filter((answer) => 'refused' in answer && answer.refused.code === 'idempotency_conflict'),
    ).toHaveLength(3);
  });

  test('of one account add up when they are concurrent', async () => {
    const account = freshAccount();
    await Promise.all(Array.from({ length: 10 }, (_, index) => fund(account, index % 2 === 0 ? '2.00' : '-1.00')));
    expect(await dashboard.request(billingWallet, { account })).toEqual({ balanceUsd: '5.00' });
    expect(await runAudit(world.ledger.pool)).toEqual([]);
  });

  test.each([
    ['idempotency_conflict', 'reference', { reference: 'taken', amountUsd: '2.00' }],
    ['invalid_request', 'amountUsd', { amountUsd: '8999999.50' }],
    ['invalid_request', 'relatesTo', { relatesTo: 'nothing' }],
    ['invalid_request', 'relatesTo', { relatesTo: makeUuidV7(1) }],
  ])('are refused with %s (%s)', async (code, param, changes) => {
    const account = freshAccount();
    await fund(account, '1.00', { reference: `of ${account}` });
    if (!('reference' in changes))
      expect(await fund(account, '1.00', changes)).toMatchObject({ refused: { code, param } });
    else {
      await fund(account, '1.00', { reference: changes.reference });
      expect(await fund(account, '1.00', changes)).toMatchObject({ refused: { code, param } });
    }
  });

  test.each([
    ['credit', '1.00', 'funding'],
    ['chargeback', '-1.00', 'funding'],
    ['adjustment', '-1.00', 'adjustment'],
  ])('of kind %s and amount %s are posted against %s', async (kind, amountUsd, counter) => {
    const answer = await fund(freshAccount(), amountUsd, { kind });
    expect(answer).toMatchObject({ transaction: { entries: [{}, { ledgerAccount: counter }] } });
  });
});

test('limits of an account replace the defaults until they are removed', async () => {
  const account = freshAccount();
  const put = (spec: object): Promise<unknown> =>
    dashboard.request(billingPutLimits, { account, spec, author: AUTHOR });
  expect(await put({ requestsPerMinute: 7, maxActiveKeys: 9 })).toEqual({
    limits: { requestsPerMinute: 7, maxActiveKeys: 9 },
  });
  expect(
    applied.flatMap(({ snapshots }) => snapshots?.accounts ?? []).find((one) => one.account === account),
  ).toMatchObject({
    terms: { value: { requestsPerMinute: 7, concurrency: 3 }, version: 1 },
  });
  expect((await load(account)).snapshot.terms).toMatchObject({ value: { requestsPerMinute: 7 }, version: 1 });
  expect(await accountsBus.request(billingFunding, { account })).toMatchObject({ activeKeysMax: 9 });
  await put({});
  expect((await load(account)).snapshot.terms).toMatchObject({ value: { requestsPerMinute: 60 }, version: 2 });
});

test('ledger and records are listed newest first, page by page', async () => {
  const account = freshAccount();
  const events = [1, 2, 3].map((number) =>
    createSettledEvent(createHold(account), 10, { id: makeUuidV7(Date.UTC(2026, 10, 20, number)) }),
  );
  await record(
    ...events,
    toExpiredEvent(createSettledEvent(createHold(account), 10, { id: makeUuidV7(Date.UTC(2026, 9, 31)) })),
  );
  await settledAll(...events);
  const ids: string[] = [];
  for (let cursor: string | null = null, first = true; first || cursor !== null; first = false) {
    const page: { records: { requestId: string }[]; nextCursor: string | null } = expectAccepted(
      await dashboard.request(billingUsageRecords, {
        account,
        from: Date.UTC(2026, 10, 1),
        to: Date.UTC(2026, 11, 1),
        cursor,
        limit: 2,
      }),
    );
    ids.push(...page.records.map(({ requestId }) => requestId));
    cursor = page.nextCursor;
  }
  expect(ids).toEqual(events.map(({ id }) => id).reverse());
  const { transactions, nextCursor } = expectAccepted(
    await dashboard.request(billingLedger, { account, month: '2026-11', cursor: null, limit: 10 }),
  );
  expect(transactions.map(({ id }) => id)).toEqual(events.map(({ id }) => id).reverse());
  expect(nextCursor).toBeNull();
  const entry = { kind: 'credit' as const, amountUsd: '5', reason: 'Invoice paid', reference: `INV-${account}` };
  expectAccepted(await dashboard.request(billingAddWalletEntry, { account, author: AUTHOR, spec: entry }));
  const withoutCalls = { account, month: null, withoutCalls: true, cursor: null, limit: 1 };
  expect(await dashboard.request(billingLedger, withoutCalls)).toMatchObject({
    transactions: [{ kind: 'credit', requestId: null, reason: entry.reason, reference: entry.reference }],
    nextCursor: null,
  });
  expect(await dashboard.request(billingLedger, { account, month: '2026-10', cursor: null, limit: 10 })).toEqual({
    transactions: [],
    nextCursor: null,
  });
  expect(await dashboard.request(billingUsageRecord, { requestId: makeUuidV7(1) })).toMatchObject({
    refused: { code: 'not_found' },
  });
});

test('billing settles everything after NATS was killed and restarted', async () => {
  const account = freshAccount();
  const first = createSettledEvent(createHold(account), 10);
  await record(first);
  await world.nats.restart?.({ kill: true });
  const second = createSettledEvent(createHold(account), 5);
  await until('the edge is connected again', () => edge.connected());
  await until('the stream stores again', async () =>
    record(second).then(
      () => true,
      () => false,
    ),
  );
  await until(
    'both are settled',
    async () =>
      (await onPool(world.ledger.pool).query('SELECT FROM usage_records WHERE account = $1', [account])).length === 2,
  );
  expect(await runAudit(world.ledger.pool)).toEqual([]);
}, 60_000);

test('a stream that was lost and created again is settled from its beginning', async () => {
  const account = freshAccount();
  await world.nats.restart?.({ kill: true, emptyState: true });
  const event = createSettledEvent(createHold(account), 10);
  await until('the edge is connected again', () => edge.connected());
  await until('the stream is created again', async () =>
    record(event).then(
      () => true,
      () => false,
    ),
  );
  await until(
    'it is settled',
    async () =>
      (await onPool(world.ledger.pool).query('SELECT FROM usage_records WHERE account = $1', [account])).length === 1,
  );
  const before = Date.now();
  await until('everything in the new stream is settled', async () =>
    load(account).then(
      ({ caughtUpTo }) => caughtUpTo >= before,
      () => false,
    ),
  );
  expect((await load(account, { afterLoss: true, ids: [event.id] })).snapshot.closed).toEqual([event.id]);
}, 60_000);

test('readiness reports database and bus', async () => {
  const billing = await world.start('three');
  expect(billing.ready.report()).toEqual({ ready: true, checks: { database: 'ok', bus: 'ok' } });
  await billing.stop();
});
