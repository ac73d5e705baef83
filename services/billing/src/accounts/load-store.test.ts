import { beforeAll, expect, test } from '@jest/globals';
import { SESSION_5H_MS, sessionWindowRow, weeklyWindowRow, weekStart } from '@gateway/metering';
import { inTransaction, type Pool } from '@gateway/postgres';
import { silentLog } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { startLedger } from '../../test/ledger-world.js';
import { type QueryPlan, countRowsRead } from '../../test/rows-read.js';
import { createPipelinedPool } from '../usage/commit/pipeline-store.js';
import { createLoadStore } from './load-store.js';

const NOW = Date.UTC(2026, 10, 20, 12);
const WEEK_MS = 7 * 86_400_000;
const SESSIONS = 1_750;
const WEEKS = 52;

const ledger = duringTests(startLedger);
let pool: Pool;

/** Balances of a year in an account that is always in use, and an upcoming window of each kind. */
beforeAll(async () => {
  pool = createPipelinedPool(ledger.url, { max: 1, applicationName: 'test', log: silentLog });
  const units = ['usd', 'requests'] as const;
  const sessions = Array.from({ length: SESSIONS }, (_, index) => NOW + 60_000 - index * SESSION_5H_MS);
  const weeks = Array.from({ length: WEEKS }, (_, index) => weekStart(NOW) + WEEK_MS - index * WEEK_MS);
  const names = units.flatMap((unit) => [
    ...sessions.map((start) => sessionWindowRow(unit, start)),
    ...weeks.map((start) => weeklyWindowRow(unit, start)),
  ]);
  await ledger.admin.query(`INSERT INTO billing.accounts (account, version) VALUES ('busy', 1)`);
  await ledger.admin.query(
    `INSERT INTO billing.balances (account, name, value, version) SELECT 'busy', unnest($1::text[]), 1, 1`,
    [names],
  );
  return () => pool.end();
});

// Covers r11
test('a load reads running and upcoming windows, and no row of the year before', async () => {
  const { rows } = await createLoadStore(pool).snapshot({ account: 'busy', names: [], ids: [], now: NOW });
  const expected = ['usd', 'requests'].flatMap((unit) => [
    `w:session_5h:${unit}:${NOW + 60_000}`,
    `w:session_5h:${unit}:${NOW + 60_000 - SESSION_5H_MS}`,
    `w:weekly:${unit}:${weekStart(NOW)}`,
    `w:weekly:${unit}:${weekStart(NOW) + WEEK_MS}`,
  ]);
  expect(rows.map(({ name }) => name).sort()).toEqual([...expected, 'wallet'].sort());

  const first = ['usd', 'requests'].flatMap((unit) => [
    `w:session_5h:${unit}:${NOW - SESSION_5H_MS}`,
    `w:weekly:${unit}:${weekStart(NOW)}`,
  ]);
  const beyond = ['usd', 'requests'].flatMap((unit) => [`w:session_5h:${unit};`, `w:weekly:${unit};`]);
  const [plan] = await inTransaction(pool, (tx) =>
    tx.query<QueryPlan>(
      `EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE load_rows ('busy', '{wallet}', '{${first}}', '{${beyond}}', '{}')`,
      [],
    ),
  );
  expect(countRowsRead(plan)).toBe(expected.length);
});
