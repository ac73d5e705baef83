import { beforeEach, describe, expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import {
  billingAddWalletEntry,
  billingApplyPlans,
  billingAudit,
  billingCloseAccount,
  billingDeletePlan,
  billingDeleteSubscription,
  billingDeleteWebhook,
  billingEraseOrigins,
  billingLedger,
  billingLedgerTransaction,
  billingListPlans,
  billingPutLimits,
  billingPutPlan,
  billingPutSubscription,
  billingPutWebhook,
  billingRotateWebhookSecret,
  billingStatement,
  billingStatementLines,
  billingTrialBalance,
  billingUsageRecord,
  billingUsageRecords,
  MESSAGES,
  type RequestMessage,
  type UsageEvent,
  usageEvents,
} from '@gateway/contracts/messages';
import { STATEMENT_LINES_MAX, type WalletEntryCreate } from '@gateway/contracts/operator';
import { formatUsd, parseUsd } from '@gateway/metering';
import { onPool } from '@gateway/postgres';
import { until } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { expectAccepted } from '../../test/accepted.js';
import { runAudit } from '../../test/audit.js';
import { createHold, createPlanHold, createSettledEvent, toVoidedEvent } from '../../test/events.js';
import type { z } from 'zod';
import { AUTHOR, HOUR, OperatorWorld, PLAN } from '../../test/operator-world.js';

const world = duringTests(OperatorWorld.start);

beforeEach(() => world.reset());

test('the audit is listed newest first, by account and by object, page by page', async () => {
  const account = world.fresh('account');
  for (const concurrency of [1, 2, 3])
    await world.dashboard.request(billingPutLimits, { account, spec: { concurrency }, author: AUTHOR });
  const first = await world.audit({ account }, 2);
  expect(first.entries.map(({ after }) => after?.['concurrency'])).toEqual([3, 2]);
  expect(first.entries[0]?.id).toMatch(/^billing\.\d+$/);
  const second = await world.audit({ account }, 2, first.nextCursor);
  expect(second).toMatchObject({ entries: [{ after: { concurrency: 1 } }], nextCursor: null });
  await expect(world.billing.ledger.pool.query('UPDATE changes SET actor = actor')).rejects.toThrow(
    'permission denied',
  );
  for (const change of [
    'DELETE FROM billing.changes',
    'UPDATE billing.changes SET client = NULL, agent = NULL, actor = actor || 1',
    "UPDATE billing.changes SET client = 'x', agent = NULL",
    "UPDATE billing.changes SET client = NULL, agent = NULL, request_id = 'x'",
    'UPDATE billing.changes SET agent = agent',
    'TRUNCATE billing.changes',
  ])
    await expect(world.billing.ledger.admin.query(change)).rejects.toThrow('append-only');
});

test('every command logs actor and origin; closing an account erases origins', async () => {
  const [account, other, plan] = [world.fresh('account'), world.fresh('account'), world.fresh('plan')];
  const accounts = await world.billing.connect('accounts');
  const url = 'https://hooks.example.com/';
  const period = {
    planId: plan,
    periodStart: new Date(world.now - HOUR).toISOString(),
    periodEnd: new Date(world.now + HOUR).toISOString(),
  };
  const commands: readonly (readonly [RequestMessage<z.ZodType, z.ZodType>, object])[] = [
    [billingPutPlan, { id: plan, spec: PLAN }],
    [billingPutSubscription, { account, spec: period }],
    [billingDeleteSubscription, { account }],
    [billingPutLimits, { account, spec: { concurrency: 7 } }],
    [billingPutWebhook, { account, spec: { url }, sealedSecret: 'sealed' }],
    [billingRotateWebhookSecret, { account, sealedSecret: 'sealed again' }],
    [billingDeleteWebhook, { account }],
    [billingApplyPlans, { plans: [{ kind: 'plan', id: `${plan}-2`, spec: PLAN }], prune: false, dryRun: false }],
    [billingDeletePlan, { id: `${plan}-2` }],
    [
      billingAddWalletEntry,
      { account: other, spec: { amountUsd: '1', kind: 'credit', reason: 'r', reference: other } },
    ],
    [billingCloseAccount, { account }],
  ];
  const known = MESSAGES.filter(
    (one) => one.servedBy.includes('billing') && 'author' in (one.body as z.ZodObject).shape,
  );
  expect(new Set(commands.map(([{ name }]) => name))).toEqual(new Set(known.map(({ name }) => name)));
  const { client, agent } = AUTHOR.origin;
  for (const [message, body] of commands) {
    const author = { actor: 'user:usr_gone', origin: { ...AUTHOR.origin, requestId: message.name } };
    const sender = message.sentBy.includes('accounts') ? accounts : world.dashboard;
    expectAccepted((await sender.request(message, { ...body, author })) as object);
    const rows = await onPool(world.billing.ledger.pool).query(
      'SELECT DISTINCT actor, client, agent FROM changes WHERE request_id = $1',
      [message.name],
    );
    expect([message.name, rows]).toEqual([message.name, [{ actor: author.actor, client, agent }]]);
  }
  const listed = async () => (await world.audit({ account })).entries.map(({ actor, origin }) => ({ actor, origin }));
  const before = await listed();
  const erase = async (...people: string[]) => (await accounts.request(billingEraseOrigins, { people })).entriesErased;
  expect([await erase('usr_gon', 'gone'), await listed()]).toEqual([0, before]);
  expect([await erase('usr_other', 'usr_gone'), await erase('usr_gone')]).toEqual([commands.length, 0]);
  expect(await listed()).toEqual(
    before.map(({ actor, origin }) => ({ actor, origin: { ...origin, client: null, agent: null } })),
  );
});

test('every list refuses an invalid cursor', async () => {
  const account = world.fresh('account');
  const page = { cursor: 'something', limit: 5 };
  const answers = await Promise.all([
    world.dashboard.request(billingUsageRecords, { account, from: null, to: null, ...page }),
    world.dashboard.request(billingLedger, { account, month: null, ...page }),
    world.dashboard.request(billingListPlans, page),
    world.dashboard.request(billingAudit, { account, object: null, ...page }),
  ]);
  for (const answer of answers) expect(answer).toMatchObject({ refused: { code: 'invalid_request', param: 'cursor' } });
});

describe('finance', () => {
  const fund = async (account: string, amountUsd: string, kind: WalletEntryCreate['kind'], relatesTo?: string) => {
    const spec = { amountUsd, kind, reason: 'test', reference: makeUuidV7(Date.now()), relatesTo };
    return expectAccepted(await world.dashboard.request(billingAddWalletEntry, { account, spec, author: AUTHOR }))
      .transaction;
  };
  async function settle(...events: UsageEvent[]): Promise<void> {
    for (const event of events) await world.edge.store(usageEvents, { group: 0 }, { events: [event] });
    for (const { id } of events)
      await until(
        'it is settled',
        async () => 'record' in (await world.dashboard.request(billingUsageRecord, { requestId: id })),
      );
  }
  const statement = async (account: string, month: string) =>
    expectAccepted(await world.dashboard.request(billingStatement, { account, month })).statement;
  const trialBalance = async (asOf: number | null) =>
    expectAccepted(await world.dashboard.request(billingTrialBalance, { asOf })).trialBalance;

  test('finds a ledger transaction by its ID', async () => {
    const transaction = await fund(world.fresh('account'), '2.00', 'credit');
    expect(await world.dashboard.request(billingLedgerTransaction, { id: transaction.id })).toEqual({ transaction });
    expect(await world.dashboard.request(billingLedgerTransaction, { id: makeUuidV7(1) })).toMatchObject({
      refused: { code: 'not_found' },
    });
  });

  test('audits a wallet entry with its balances', async () => {
    const account = world.fresh('account');
    const { id } = await fund(account, '2.00', 'credit');
    expect((await world.audit({ object: id })).entries).toMatchObject([
      {
        action: 'add_wallet_entry',
        accountId: account,
        before: { balanceUsd: '0.00' },
        after: { amountUsd: '2.00', kind: 'credit', balanceUsd: '2.00' },
      },
    ]);
  });

  test('returns statements that add up to the ledger in every month', async () => {
    const account = world.fresh('account');
    const end = Date.UTC(2026, 10, 1);
    const at = (ms: number, hold = createHold(account), amount = 1_000) =>
      createSettledEvent(hold, amount, { id: makeUuidV7(ms) });
    world.now = end - 5 * 86_400_000;
    await fund(account, '5.00', 'credit');
    const other = createHold(account, { key: 'other-key', model: 'acme/two' });
    const late = at(end - 1);
    await settle(
      ...[late, at(end), at(end + 1, other, 500), toVoidedEvent(at(end + 2))],
      at(end + 3, createPlanHold(account, 300, 1_000), 700),
    );
    world.now = end + 86_400_000;
    await fund(account, '-1.00', 'chargeback');
    await fund(account, '0.0000005', 'refund', late.id);

    const october = await statement(account, '2026-10');
    expect(october).toMatchObject({
      openingBalanceUsd: '0.00',
      closingBalanceUsd: '4.999999',
      movements: [
        { kind: 'credit', amountUsd: '5.00', transactions: 1 },
        { kind: 'usage', amountUsd: '-0.000001', transactions: 1 },
      ],
      usage: { calls: 1, chargedUsd: '0.000001' },
    });
    const november = await statement(account, '2026-11');
    expect(november).toMatchObject({
      openingBalanceUsd: october.closingBalanceUsd,
      movements: [
        { kind: 'chargeback', amountUsd: '-1.00' },
        { kind: 'refund', amountUsd: '0.0000005' },
        { kind: 'usage', amountUsd: '-0.0000019', transactions: 3 },
      ],
      usage: { calls: 3, chargedUsd: '0.0000022', planUsd: '0.0000003', walletUsd: '0.0000019' },
      byKey: [
        { keyId: `key-${account}`, calls: 2, chargedUsd: '0.0000017' },
        { keyId: 'other-key', calls: 1, chargedUsd: '0.0000005' },
      ],
      byMember: [{ memberId: `member-${account}`, calls: 3 }],
      byModel: [
        { modelId: 'acme/one', calls: 2 },
        { modelId: 'acme/two', calls: 1 },
      ],
    });
    for (const { openingBalanceUsd, movements, closingBalanceUsd } of [october, november]) {
      const sum = movements.reduce((total, { amountUsd }) => total + parseUsd(amountUsd), parseUsd(openingBalanceUsd));
      expect(formatUsd(sum)).toBe(closingBalanceUsd);
    }
    const [ledger] = await onPool(world.billing.ledger.pool).query<{ sum: string }>(
      `SELECT sum(amount_nano_usd)::text AS sum FROM ledger_entries WHERE ledger_account = 'wallet:' || $1`,
      [account],
    );
    expect(parseUsd(november.closingBalanceUsd)).toBe(BigInt(ledger?.sum ?? 0));
    const december = await statement(account, '2026-12');
    expect(december).toMatchObject({ openingBalanceUsd: november.closingBalanceUsd, movements: [], byKey: [] });
    expect(december.closingBalanceUsd).toBe(december.openingBalanceUsd);
  });

  test('sums the omitted lines of a statement, and returns all lines page by page', async () => {
    const account = world.fresh('account');
    const total = STATEMENT_LINES_MAX + 30;
    const at = Date.UTC(2026, 9, 5);
    const calls = Array.from({ length: total }, (_, index) =>
      createSettledEvent(
        createHold(account, { key: `key-${String(index).padStart(4, '0')}`, member: `member-${index % 2}` }),
        1_000 + index,
        { id: makeUuidV7(at + index) },
      ),
    );
    await world.edge.store(usageEvents, { group: 0 }, { events: calls.slice(0, 100) });
    await settle(...calls.slice(100, 101));
    await world.edge.store(usageEvents, { group: 0 }, { events: calls.slice(101, 200) });
    await world.edge.store(usageEvents, { group: 0 }, { events: calls.slice(200) });
    await until('all are settled', async () => (await statement(account, '2026-10')).usage.calls === total);
    const { byKey, byMember, usage, omitted } = await statement(account, '2026-10');
    expect([byKey.length, byMember.length, omitted.keys.entries, omitted.members.entries]).toEqual([
      STATEMENT_LINES_MAX,
      2,
      30,
      0,
    ]);
    expect(byKey[0]?.keyId).toBe(`key-0${total - 1}`);
    const sum = (lines: { chargedUsd: string }[]) =>
      lines.reduce((charged, line) => charged + parseUsd(line.chargedUsd), 0n);
    expect(sum(byKey) + parseUsd(omitted.keys.chargedUsd)).toBe(parseUsd(usage.chargedUsd));
    expect(omitted.members).toEqual({ entries: 0, calls: 0, chargedUsd: '0.00', planUsd: '0.00', walletUsd: '0.00' });

    const page = async (by: 'key' | 'model', member: string | null, cursor: string | null) =>
      expectAccepted(
        await world.dashboard.request(billingStatementLines, {
          account,
          month: '2026-10',
          by,
          key: null,
          member,
          cursor,
          limit: 50,
        }),
      );
    const lines = [];
    for (let cursor: string | null = null; ;) {
      const next = await page('key', 'member-1', cursor);
      lines.push(...next.lines);
      if (next.nextCursor === null) break;
      cursor = next.nextCursor;
    }
    expect(lines.map(({ id }) => id)).toEqual(
      calls.flatMap(({ hold }) => (hold.member === 'member-1' ? [hold.key] : [])).sort(),
    );
    const ofMember = byMember.find(({ memberId }) => memberId === 'member-1');
    expect(sum(lines)).toBe(parseUsd(ofMember?.chargedUsd ?? '0'));
    expect((await page('model', 'member-1', null)).lines).toEqual([
      {
        id: 'acme/one',
        calls: total / 2,
        chargedUsd: ofMember?.chargedUsd,
        planUsd: '0.00',
        walletUsd: ofMember?.walletUsd,
      },
    ]);
  });

  test.each(['1969-12', '2019-12'])('refuses a statement of %s', async (month) => {
    expect(await world.dashboard.request(billingStatement, { account: 'a', month })).toMatchObject({
      refused: { code: 'invalid_request', param: 'month' },
    });
  });

  test('returns a trial balance that sums to zero, at any time', async () => {
    const account = world.fresh('account');
    await fund(account, '3.00', 'adjustment');
    await settle(createSettledEvent(createPlanHold(account, 400, 1_000), 900));
    const all = await trialBalance(null);
    expect(all.totalUsd).toBe('0.00');
    expect(all.accounts.map(({ ledgerAccount }) => ledgerAccount)).toEqual([
      'adjustment',
      'cost',
      'funding',
      'plan',
      'provider-cost:provider-1',
      'revenue:plan',
      'revenue:wallet',
      'wallet',
    ]);
    const [posted] = await onPool(world.billing.ledger.pool).query<{ at: Date }>(
      `SELECT posted_at AS at FROM ledger_transactions WHERE account = $1 AND kind = 'adjustment'`,
      [account],
    );
    const before = await trialBalance(posted?.at.getTime() ?? 0);
    expect(before.totalUsd).toBe('0.00');
    expect(before.asOf).toBe(posted?.at.toISOString());
    expect(before.accounts.find(({ ledgerAccount }) => ledgerAccount === 'adjustment')).toBeUndefined();
    expect(await trialBalance(Date.now() + HOUR)).toMatchObject({ accounts: all.accounts });
    expect(await trialBalance(0)).toMatchObject({ accounts: [], totalUsd: '0.00' });
    expect(await runAudit(world.billing.ledger.pool)).toEqual([]);
  });
});
