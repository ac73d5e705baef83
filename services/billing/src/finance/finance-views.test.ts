import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { beforeAll, expect, test } from '@jest/globals';
import { dumpSchema, onPool } from '@gateway/postgres';
import { duringTests, onceUsed } from '@gateway/testkit/during-tests';
import { expectAccepted } from '../../test/accepted.js';
import { PLAIN_PRICE, createPlanHold, createSettledEvent, START, tokens } from '../../test/events.js';
import { ledgerVerbs } from '../../test/ledger-verbs.js';
import { startLedger } from '../../test/ledger-world.js';

const DENIED = '42501';
const READ_ONLY = '25006';
const GOLDEN = new URL('../../finance.golden.txt', import.meta.url);

const ledger = duringTests(startLedger);
const finance = onceUsed(() => ledger.poolOf('finance'));
const call = createSettledEvent(createPlanHold('a', 300, 700), 1_000);

beforeAll(async () => {
  const verbs = ledgerVerbs(ledger);
  const spec = {
    kind: 'credit' as const,
    amountUsd: '5.000000001',
    reason: 'paid',
    reference: 'inv-1',
    relatesTo: null,
  };
  expectAccepted(await verbs.fund('a', spec, START));
  await verbs.settle(call);
}, 60_000);

const rows = (text: string) => onPool(finance).query<Record<string, unknown>>(text);

test('the finance views match the golden schema', async () => {
  const dump = await dumpSchema(ledger.admin, 'finance');
  if (process.env['UPDATE_GOLDEN'] === '1' || !existsSync(GOLDEN)) writeFileSync(GOLDEN, dump);
  expect(dump).toBe(readFileSync(GOLDEN, 'utf8'));
});

test('the finance role reads every view, with nine decimal places', async () => {
  expect(
    await rows(
      'SELECT request_id, month, charged_usd, plan_usd, wallet_usd, cost_usd, attempts FROM finance.usage_records_v1',
    ),
  ).toEqual([
    {
      request_id: call.id,
      month: '2026-11',
      charged_usd: '0.000001000',
      plan_usd: '0.000000300',
      wallet_usd: '0.000000700',
      cost_usd: '0.000001000',
      attempts: [
        {
          source_id: 'source-1',
          provider_id: 'provider-1',
          outcome: 'completed',
          status: 200,
          possibly_paid: true,
          cost_version: 'p1',
          cost_usd: '0.000001000',
        },
      ],
    },
  ]);
  expect(await rows('SELECT kind, reference, reason, actor FROM finance.ledger_transactions_v1 ORDER BY kind')).toEqual(
    [
      { kind: 'credit', reference: 'inv-1', reason: 'paid', actor: 'operator:ada' },
      { kind: 'usage', reference: null, reason: null, actor: null },
    ],
  );
  expect(
    await rows('SELECT sum(amount_usd)::text AS total, count(*)::int AS entries FROM finance.ledger_entries_v1'),
  ).toEqual([{ total: '0.000000000', entries: 8 }]);
  expect(await rows('SELECT account_id, balance_usd, closed_at FROM finance.wallet_balances_v1')).toEqual([
    { account_id: 'a', balance_usd: '4.999999301', closed_at: null },
  ]);
  expect(
    await rows(
      'SELECT month, opening_usd, credits_usd, usage_usd, closing_usd, charged_usd FROM finance.statements_v1',
    ),
  ).toEqual([
    {
      month: '2026-11',
      opening_usd: '0.000000000',
      credits_usd: '5.000000001',
      usage_usd: '-0.000000700',
      closing_usd: '4.999999301',
      charged_usd: '0.000001000',
    },
  ]);
  expect(await rows('SELECT line_of, line_id, charged_usd FROM finance.statement_lines_v1 ORDER BY 1')).toEqual([
    { line_of: 'key', line_id: 'key-a', charged_usd: '0.000001000' },
    { line_of: 'member', line_id: 'member-a', charged_usd: '0.000001000' },
    { line_of: 'model', line_id: 'acme/one', charged_usd: '0.000001000' },
  ]);
  expect(await rows("SELECT amount_usd FROM finance.trial_balance_v1 WHERE ledger_account = 'plan'")).toEqual([
    { amount_usd: '-0.000000300' },
  ]);
});

test('the finance role cannot read tables, write, or call functions of the ledger', async () => {
  const tables = await onPool(ledger.admin).query<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
      WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`,
  );
  expect(tables.length).toBeGreaterThan(15);
  for (const { name } of tables)
    await expect(finance.query(`SELECT FROM ${name} LIMIT 1`)).rejects.toMatchObject({ code: DENIED });
  const views = await onPool(ledger.admin).query<{ name: string }>(
    `SELECT format('%I.%I', schemaname, viewname) AS name FROM pg_views WHERE schemaname = 'finance' ORDER BY 1`,
  );
  expect(views).toHaveLength(7);
  // The setting only prevents mistakes; the privileges must work without it.
  await finance.query('SET default_transaction_read_only = off');
  for (const { name } of views) {
    expect((await finance.query(`SELECT * FROM ${name}`)).rowCount).toBeGreaterThan(0);
    for (const text of [`DELETE FROM ${name}`, `INSERT INTO ${name} DEFAULT VALUES`, `TRUNCATE ${name}`])
      await expect(finance.query(text)).rejects.toThrow();
  }
  for (const text of [
    "SELECT billing.ensure_month('2027-01-01')",
    'CREATE TABLE finance.mine (a int)',
    'CREATE TABLE public.mine (a int)',
    'CREATE SCHEMA mine',
    'CREATE ROLE mine',
  ])
    await expect(finance.query(text)).rejects.toMatchObject({ code: expect.stringMatching(`${DENIED}|${READ_ONLY}`) });
});

test('usage_records has class, tools, token kinds and unpriced names', async () => {
  const { figures, version } = PLAIN_PRICE;
  const kinds = { audioInput: null, imageInput: null, audioOutput: null, imageOutput: null };
  const price = {
    version,
    figures: { ...figures, extras: { classes: { priority: figures }, units: { search: 10 }, kinds } },
  };
  const usage = { ...tokens(100), kinds: { audioInput: 0, imageInput: 3, audioOutput: 0, imageOutput: 0 } };
  const served = { class: 'priority' as const, units: { search: 2 } };
  const plain = createSettledEvent(createPlanHold('b', 300, 700), 120);
  const attempts = plain.attempts.map((attempt) => ({ ...attempt, usage, served, cost: price }));
  await ledgerVerbs(ledger).settle({ ...plain, usage, served, price, attempts, unpriced: ['x'] });
  const columns =
    'price_class, units, image_input_tokens::int AS images, audio_output_tokens::int AS audio, samplings, unpriced';
  const of = (account: string) =>
    rows(`SELECT ${columns} FROM finance.usage_records_v1 WHERE account_id = '${account}'`);
  expect(await of('b')).toEqual([
    { price_class: 'priority', units: { search: 2 }, images: 3, audio: 0, samplings: null, unpriced: ['x'] },
  ]);
  expect(await of('a')).toEqual([
    { price_class: 'standard', units: {}, images: 0, audio: 0, samplings: null, unpriced: null },
  ]);
});
