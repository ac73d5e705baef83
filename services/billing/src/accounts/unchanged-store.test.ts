import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { SESSION_5H_MS, sessionWindowRow, weeklyWindowRow, weekStart } from '@gateway/metering';
import { inTransaction, type Pool } from '@gateway/postgres';
import { silentLog } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { startLedger } from '../../test/ledger-world.js';
import { type QueryPlan, countRowsRead } from '../../test/rows-read.js';
import { createPipelinedPool } from '../usage/commit/pipeline-store.js';
import { type RequestedAccounts, createUnchangedStore } from './unchanged-store.js';

const NOW = Date.UTC(2026, 10, 20, 12);
const WEEK_MS = 7 * 86_400_000;
const RUNNING = sessionWindowRow('usd', NOW - 1_000);
const OVER = sessionWindowRow('usd', NOW - SESSION_5H_MS - 1);

const ledger = duringTests(startLedger);
let pool: Pool;

beforeAll(() => {
  pool = createPipelinedPool(ledger.url, { max: 1, applicationName: 'test', log: silentLog });
});
afterAll(() => pool.end());
beforeEach(async () => {
  await ledger.admin.query('DELETE FROM billing.balances; DELETE FROM billing.accounts');
});

const put = async (account: string, rows: Readonly<Record<string, number>>, version = 9, terms = 4): Promise<void> => {
  await ledger.admin.query('INSERT INTO billing.accounts (account, version, terms_version) VALUES ($1, $2, $3)', [
    account,
    version,
    terms,
  ]);
  await ledger.admin.query(
    `INSERT INTO billing.balances (account, name, value, version)
     SELECT $1, name, 1, version FROM unnest($2::text[], $3::bigint[]) AS row (name, version)`,
    [account, Object.keys(rows), Object.values(rows)],
  );
};
const asking = (
  account: string,
  rows: Readonly<Record<string, number>>,
  termsVersion = 4,
): RequestedAccounts[number] => {
  return { account, termsVersion, rows: Object.entries(rows).map(([name, version]) => ({ name, version })) };
};
const unchanged = async (...asked: RequestedAccounts) =>
  (await createUnchangedStore(pool).unchanged(asked, NOW)).accounts.map(({ account }) => account);

const KEPT = { wallet: 7, 'km:k:2026-11': 5, [RUNNING]: 7 };
test.each([
  ['all versions match', {}, {}, true],
  ['a balance was never written, and is named with version 0', {}, { 'mm:m:2026-11': 0 }, true],
  ['a balance is newer', { wallet: 8 }, {}, false],
  ['a balance is older', { wallet: 6 }, {}, false],
  ['a named balance was never written', {}, { 'mm:m:2026-11': 3 }, false],
  ['a balance was written, and is named with version 0', { 'mm:m:2026-11': 3 }, { 'mm:m:2026-11': 0 }, false],
  ['a running session is not named', { [sessionWindowRow('requests', NOW - 1_000)]: 7 }, {}, false],
  ['an upcoming session is not named', { [sessionWindowRow('usd', NOW + 900)]: 7 }, {}, false],
  ['a running week is not named', { [weeklyWindowRow('usd', weekStart(NOW))]: 7 }, {}, false],
  ['an ended session is not named', { [OVER]: 8 }, {}, true],
  ['an ended week is not named', { [weeklyWindowRow('usd', weekStart(NOW) - WEEK_MS)]: 8 }, {}, true],
  ['a month is not named: it is loaded by name', { 'km:other:2026-11': 8 }, {}, true],
])('unchanged(): %s', async (_name, written, said, isUnchanged) => {
  await put('one', { ...KEPT, ...written });
  await put('other', KEPT);
  expect(await unchanged(asking('one', { ...KEPT, ...said }), asking('other', KEPT))).toEqual(
    isUnchanged ? ['one', 'other'] : ['other'],
  );
});

test('another terms version is a change; an unknown account has version 0', async () => {
  await put('one', KEPT);
  expect(await unchanged(asking('one', KEPT, 3), asking('none', { wallet: 0 }, 0), asking('nobody', {}, 1))).toEqual([
    'none',
  ]);
});

test('the result has the account version and the ledger epoch of the snapshot', async () => {
  await put('one', KEPT, 12);
  const found = await createUnchangedStore(pool).unchanged([asking('one', KEPT), asking('none', {}, 0)], NOW);
  const { rows } = await ledger.admin.query('SELECT ledger_epoch FROM billing.ledger_state');
  expect(found).toMatchObject({
    ledgerEpoch: rows[0].ledger_epoch,
    accounts: [
      { account: 'one', version: 12 },
      { account: 'none', version: 0 },
    ],
  });
});

test('the check reads no row of the year before', async () => {
  const sessions = Array.from({ length: 1_750 }, (_, index) => NOW - index * SESSION_5H_MS);
  const rows = Object.fromEntries(sessions.map((start) => [sessionWindowRow('usd', start), 1]));
  await put('busy', { wallet: 1, ...rows });
  const said = { wallet: 1, [sessionWindowRow('usd', NOW)]: 1, [sessionWindowRow('usd', NOW - SESSION_5H_MS)]: 1 };
  expect(await unchanged(asking('busy', said))).toEqual(['busy']);
  const range = `'{w:session_5h:usd:${NOW - SESSION_5H_MS}}', '{w:session_5h:usd;}'`;
  const explain = (statement: string) =>
    inTransaction(pool, (tx) => tx.query<QueryPlan>(`EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE ${statement}`, []));
  expect(countRowsRead((await explain(`unchanged_windows ('{busy}', ${range})`))[0])).toBe(2);
  expect(countRowsRead((await explain(`unchanged_rows ('{busy}', '{wallet}', '{1}')`))[0])).toBe(1);
});
