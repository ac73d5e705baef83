import { beforeAll, expect, test } from '@jest/globals';
import { onPool } from '@gateway/postgres';
import { duringTests, onceUsed } from '@gateway/testkit/during-tests';
import { expectAccepted } from '../../test/accepted.js';
import { runAudit } from '../../test/audit.js';
import { createPlanHold, createSettledEvent } from '../../test/events.js';
import { AUTHOR, ledgerVerbs } from '../../test/ledger-verbs.js';
import { startLedger } from '../../test/ledger-world.js';
import { putSubscription } from '../subscriptions/handlers.js';
import { createSubscriptionStore } from '../subscriptions/store.js';
import { closeAccount } from './handlers.js';
import { createAccountStore } from './store.js';

const NOW = Date.now();
const HOUR = 3_600_000;

const ledger = duringTests(startLedger);
const verbs = onceUsed(() => ledgerVerbs(ledger));
let names = 0;

beforeAll(() => verbs.plan('pro', NOW));

const fresh = (kind = 'account'): string => `${kind}-${(names += 1)}`;
const fund = (account: string, kind: 'credit' | 'adjustment' | 'chargeback', amountUsd: string, relatesTo?: string) =>
  verbs.fund(account, { kind, amountUsd, reason: 'test', reference: fresh('reference'), relatesTo }, NOW);
const close = (account: string, isInForce = true) =>
  closeAccount(
    {
      store: createAccountStore(ledger.pool),
      inForce: { awaitDelivered: () => Promise.resolve(isInForce) },
      now: () => NOW,
    },
    { account, author: AUTHOR },
  );
const changesOf = (account: string) =>
  onPool(ledger.pool).query(
    `SELECT action, actor, after,
            jsonb_build_object('client', client, 'agent', agent, 'requestId', request_id) AS origin
       FROM changes WHERE account = $1 ORDER BY id`,
    [account],
  );

test.each([
  ['1.00', 'pay it out'],
  ['-1.00', 'waive the debt'],
])('an account with %s USD cannot be closed: the refusal contains "%s"', async (amountUsd, remedy) => {
  const account = fresh();
  await fund(account, 'adjustment', amountUsd);
  expect(await close(account)).toMatchObject({
    refused: { code: 'state_conflict', message: expect.stringContaining(remedy) },
  });
  await verbs.subscribe(account, 'pro', NOW - HOUR, NOW + HOUR, NOW);
  await fund(account, 'adjustment', String(-Number(amountUsd)));
  expect(await close(account)).toEqual({ closed: true });
});

test('closing an account ends the subscription, informs admission and is audited once', async () => {
  const account = fresh();
  await verbs.subscribe(account, 'pro', NOW - HOUR, NOW + HOUR, NOW);
  expect(await close(account)).toEqual({ closed: true });
  expect(await close(account)).toEqual({ closed: true });
  expect((await changesOf(account)).slice(1)).toEqual([
    { action: 'delete_subscription', ...AUTHOR, after: null },
    { action: 'close_account', ...AUTHOR, after: { state: 'closed', subscriptionEnded: true } },
  ]);
  const [published] = await onPool(ledger.pool).query<{ plan: unknown }>(
    `SELECT body #> '{snapshot,terms,value,plan}' AS plan FROM outbox WHERE key = $1 ORDER BY id DESC LIMIT 1`,
    [account],
  );
  expect(published).toEqual({ plan: null });
});

test('closing an account deletes the webhook', async () => {
  const account = fresh();
  await fund(account, 'adjustment', '1.00');
  await fund(account, 'adjustment', '-1.00');
  await ledger.admin.query(
    `INSERT INTO billing.webhooks (account, url, enabled, sealed_secret) VALUES ($1, 'https://example.com', true, 'x')`,
    [account],
  );
  await close(account);
  expect(await onPool(ledger.pool).query('SELECT FROM webhooks WHERE account = $1', [account])).toEqual([]);
});

test('closing returns not_in_force until admission has it, also when repeated', async () => {
  const account = fresh();
  await verbs.subscribe(account, 'pro', NOW - HOUR, NOW + HOUR, NOW);
  expect(await close(account, false)).toMatchObject({ refused: { code: 'not_in_force' } });
  expect(await close(account, true)).toEqual({ closed: true });
});

test('a closed account refuses credits and subscriptions, and accepts late charges', async () => {
  const account = fresh();
  const payment = expectAccepted(await fund(account, 'credit', '1.00')).transaction.id;
  await fund(account, 'adjustment', '-1.00');
  await close(account);
  expect(await fund(account, 'credit', '1.00')).toMatchObject({ refused: { code: 'state_conflict' } });
  const spec = {
    planId: 'pro',
    periodStart: new Date(NOW - HOUR).toISOString(),
    periodEnd: new Date(NOW + HOUR).toISOString(),
    renews: false,
  };
  const deps = {
    store: createSubscriptionStore(ledger.pool),
    inForce: { awaitDelivered: () => Promise.resolve(true) },
    now: () => NOW,
  };
  expect(await putSubscription(deps, { account, spec, author: AUTHOR })).toMatchObject({
    refused: { code: 'state_conflict' },
  });
  expect((await verbs.settle(createSettledEvent(createPlanHold(account, 10, 0), 20))).outcomes).toEqual(['settled']);
  expectAccepted(await fund(account, 'chargeback', '-1.00', payment));
  expect(expectAccepted(await fund(account, 'adjustment', '1.00')).balanceUsd).toBe('0.00');
  expect(await runAudit(ledger.pool)).toEqual([]);
});

test('concurrent closing and crediting: exactly one of them is refused', async () => {
  for (let round = 0; round < 10; round += 1) {
    const account = fresh();
    const [closed, credited] = await Promise.all([close(account), fund(account, 'credit', '1.00')]);
    expect('refused' in closed).toBe(!('refused' in credited));
  }
});
