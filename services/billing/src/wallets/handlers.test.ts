import { expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { onPool } from '@gateway/postgres';
import type { WalletEntryCreate } from '@gateway/contracts/operator';
import { duringTests, onceUsed } from '@gateway/testkit/during-tests';
import { expectAccepted } from '../../test/accepted.js';
import { readLedgerValues, runAudit } from '../../test/audit.js';
import {
  toExpiredEvent,
  createHold,
  createPlanHold,
  createSettledEvent,
  START,
  toVoidedEvent,
} from '../../test/events.js';
import { ledgerVerbs } from '../../test/ledger-verbs.js';
import { startLedger } from '../../test/ledger-world.js';

const ledger = duringTests(startLedger);
const verbs = onceUsed(() => ledgerVerbs(ledger));
let names = 0;

const fresh = (kind = 'account'): string => `${kind}-${(names += 1)}`;
const fund = (account: string, kind: WalletEntryCreate['kind'], amountUsd: string, relatesTo?: string, more = {}) =>
  verbs.fund(account, { kind, amountUsd, reason: 'test', reference: fresh('reference'), relatesTo, ...more }, START);
const credit = async (account: string, amountUsd: string): Promise<string> =>
  expectAccepted(await fund(account, 'credit', amountUsd)).transaction.id;
const left = { refused: { code: 'state_conflict', param: 'amountUsd' } };
const unrelated = { refused: { code: 'invalid_request', param: 'relatesTo' } };

test.each([
  ['credit', '1.00', 'funding', null],
  ['chargeback', '-1.00', 'funding', null],
  ['chargeback', '1.00', 'funding', null],
  ['adjustment', '-1.00', 'adjustment', null],
  ['adjustment', '1.00', 'adjustment', null],
  ['refund', '-1.00', 'funding', 'payment'],
  ['refund', '0.000001', 'revenue:wallet', 'call'],
] as const)('a %s of %s is posted against %s', async (kind, amountUsd, counter, related) => {
  const account = fresh();
  const payment = await credit(account, '2.00');
  const call = createSettledEvent(createHold(account), 1_000);
  await verbs.settle(call);
  const relatesTo = related === null ? undefined : related === 'payment' ? payment : call.id;
  expect(await fund(account, kind, amountUsd, relatesTo)).toMatchObject({
    transaction: { entries: [{ ledgerAccount: `wallet:${account}` }, { ledgerAccount: counter }] },
  });
});

test('a refund takes at most the payment minus its refunds and chargebacks', async () => {
  const account = fresh();
  const [payment, other] = [await credit(account, '10.00'), await credit(account, '100.00')];
  expect(await fund(account, 'refund', '-10.000000001', payment)).toMatchObject(left);
  expectAccepted(await fund(account, 'refund', '-4.00', payment));
  expect(await fund(account, 'refund', '-6.000000001', payment)).toMatchObject(left);
  expectAccepted(await fund(account, 'chargeback', '-5.00', payment));
  expect(await fund(account, 'refund', '-1.000000001', payment)).toMatchObject(left);
  expectAccepted(await fund(account, 'refund', '-1.00', payment));
  expect(await fund(account, 'refund', '-0.000000001', payment)).toMatchObject(left);
  // A won dispute makes more refundable again. Entries for another payment do not affect this one.
  expectAccepted(await fund(account, 'chargeback', '2.00', payment));
  expectAccepted(await fund(account, 'refund', '-2.00', payment));
  expectAccepted(await fund(account, 'refund', '-100.00', other));
  expect(await readLedgerValues(ledger.pool)).toMatchObject({ [`${account} wallet`]: '0' });
});

test('concurrent refunds of one payment take no more than was paid in', async () => {
  const account = fresh();
  const payment = await credit(account, '3.00');
  const answers = await Promise.all(Array.from({ length: 10 }, () => fund(account, 'refund', '-1.00', payment)));
  expect(answers.filter((answer) => !('refused' in answer))).toHaveLength(3);
});

test("a refund returns at most the wallet's payment for a call, by any of its IDs", async () => {
  const account = fresh();
  const id = makeUuidV7(START);
  const late = createSettledEvent(createPlanHold(account, 400, 600), 1_000, { id });
  await verbs.settle(toExpiredEvent(late));
  expect(await fund(account, 'refund', '0.000000001', id)).toMatchObject(left);
  await verbs.settle(late);
  const [correction] = await onPool(ledger.pool).query<{ id: string }>(
    'SELECT id FROM ledger_transactions WHERE request_id = $1',
    [id],
  );
  // The plan paid 400 of 1,000.
  expect(await fund(account, 'refund', '0.000000601', id)).toMatchObject(left);
  expectAccepted(await fund(account, 'refund', '0.0000004', id));
  expect(await fund(account, 'refund', '0.000000201', correction?.id)).toMatchObject(left);
  expectAccepted(await fund(account, 'refund', '0.0000002', correction?.id));
  expect(await fund(account, 'refund', '0.000000001', id)).toMatchObject(left);
});

test('a failed call cannot be refunded, even if it has a cost', async () => {
  const account = fresh();
  const call = createSettledEvent(createHold(account), 1_000);
  await verbs.settle({ ...toVoidedEvent(call), attempts: call.attempts });
  expect(await fund(account, 'refund', '0.000000001', call.id)).toMatchObject(left);
});

test('a refund must relate to a payment or call of its account', async () => {
  const [account, other] = [fresh(), fresh()];
  const payment = await credit(account, '5.00');
  const foreign = await credit(other, '5.00');
  const adjustment = expectAccepted(await fund(account, 'adjustment', '5.00')).transaction.id;
  const [call, foreignCall] = [
    createSettledEvent(createHold(account), 1_000),
    createSettledEvent(createHold(other), 1_000),
  ];
  await verbs.settle(call, foreignCall);
  for (const [amountUsd, relatesTo] of [
    ['-1.00', undefined],
    ['-1.00', foreign],
    ['-1.00', adjustment],
    ['-0.000001', call.id],
    ['1.00', undefined],
    ['1.00', payment],
    ['0.000001', foreignCall.id],
    ['1.00', makeUuidV7(START)],
    ['1.00', 'nothing'],
  ] as const)
    expect([amountUsd, relatesTo, await fund(account, 'refund', amountUsd, relatesTo)]).toMatchObject([
      amountUsd,
      relatesTo,
      unrelated,
    ]);
});

test('a repeated reference with another related object is refused', async () => {
  const account = fresh();
  const [one, two] = [await credit(account, '5.00'), await credit(account, '5.00')];
  const reference = fresh('reference');
  expectAccepted(await fund(account, 'refund', '-1.00', one, { reference }));
  expect(await fund(account, 'refund', '-1.00', one, { reference })).toMatchObject({ repeated: true });
  expect(await fund(account, 'refund', '-1.00', two, { reference })).toMatchObject({
    refused: { code: 'idempotency_conflict' },
  });
});

test('a chargeback of spent money leaves a debt and is published to admission', async () => {
  const account = fresh();
  const payment = await credit(account, '1.00');
  await verbs.settle(createSettledEvent(createHold(account), 400_000_000));
  expect(await fund(account, 'chargeback', '-1.00', payment)).toMatchObject({ balanceUsd: '-0.40' });
  const rows = await onPool(ledger.pool).query<{ rows: unknown }>(
    `SELECT body -> 'snapshot' -> 'rows' AS rows FROM outbox WHERE key = $1 ORDER BY id DESC LIMIT 1`,
    [account],
  );
  expect(rows[0]?.rows).toMatchObject([{ name: 'wallet', value: -400_000_000 }]);
});

test('plan, wallet and attempts are posted against their ledger accounts', async () => {
  const account = fresh();
  const call = createSettledEvent(createPlanHold(account, 300, 700), 1_000);
  const [attempt] = call.attempts;
  if (!attempt) throw new Error('no attempt');
  const dear = { ...attempt, source: 'source-2', provider: 'provider-2', cost: { ...attempt.cost!, version: 'c2' } };
  await verbs.settle({ ...call, attempts: [{ ...attempt, cost: { ...attempt.cost!, version: 'c1' } }, dear] });
  const entries = await onPool(ledger.pool).query<{ ledger_account: string; amount: string }>(
    `SELECT ledger_account, amount_nano_usd::text AS amount FROM ledger_entries WHERE transaction_id = $1 ORDER BY 1`,
    [call.id],
  );
  expect(Object.fromEntries(entries.map((entry) => [entry.ledger_account, Number(entry.amount)]))).toEqual({
    [`wallet:${account}`]: -700,
    'revenue:wallet': 700,
    [`plan:${account}:sub-1`]: -300,
    'revenue:plan': 300,
    cost: -2_000,
    'provider-cost:provider-1': 1_000,
    'provider-cost:provider-2': 1_000,
  });
  const record = (await verbs.records.record(call.id))?.record;
  expect(record?.attempts.map(({ costVersion, costNanoUsd }) => [costVersion, costNanoUsd])).toEqual([
    ['c1', 1_000n],
    ['c2', 1_000n],
  ]);
});

test('the audit finds no difference afterwards', async () => {
  expect(await runAudit(ledger.pool)).toEqual([]);
});
