import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { inTransaction, type Pool } from '@gateway/postgres';
import { silentLog, type TestDatabase } from '@gateway/testkit';
import { type LedgerWorld, startLedgerWorld } from '../../test/ledger-world.js';
import { createLoadStore } from '../accounts/load-store.js';
import { readRecords } from '../records/store.js';
import { createPipelinedPool } from '../usage/commit/pipeline-store.js';
import { findIdSpan } from './sql.js';

const MONTHS = ['2026-09', '2026-10', '2026-11', '2026-12', '2027-01'];
const NOW = Date.UTC(2026, 10, 15);
const IDS = [3, 1, 2].map((second) => makeUuidV7(NOW + second * 1_000));

let world: LedgerWorld;
let ledger: TestDatabase;
let pool: Pool;

beforeAll(async () => {
  world = await startLedgerWorld();
  ledger = await world.ledger();
  await ledger.admin.query("UPDATE billing.ledger_state SET first_month = '2026-09-01'");
  for (const month of MONTHS) await ledger.pool.query(`SELECT ensure_month('${month}-01')`);
  pool = createPipelinedPool(ledger.url, { max: 1, applicationName: 'test', log: silentLog });
}, 60_000);
afterAll(async () => {
  await pool?.end();
  await world?.stop();
});

/** Returns the months whose partitions a prepared statement of this session reads. */
async function monthsLookedInto(explained: Promise<{ 'QUERY PLAN': string }[]>): Promise<string[]> {
  const plan = (await explained).map((row) => row['QUERY PLAN']).join('\n');
  return [...new Set(plan.match(/call_records_\d{4}_\d{2}/g))];
}

const arrayOf = (ids: readonly string[]): string => `'{${ids.join()}}'`;
const spanText = (ids: readonly string[]): string =>
  findIdSpan(ids)
    .map((id) => `'${id}'`)
    .join();

test('reading records for a settlement scans only the months of the IDs', async () => {
  const months = await inTransaction(pool, async (tx) => {
    await readRecords(tx, IDS);
    return monthsLookedInto(tx.query(`EXPLAIN EXECUTE read_records (${arrayOf(IDS)}, ${spanText(IDS)})`, []));
  });
  expect(months).toEqual(['call_records_2026_11']);
});

test('reading IDs around a month end scans both months', async () => {
  const ids = [makeUuidV7(Date.UTC(2026, 11, 1)), makeUuidV7(Date.UTC(2026, 11, 1) - 1)];
  const months = await inTransaction(pool, async (tx) => {
    await readRecords(tx, ids);
    return monthsLookedInto(tx.query(`EXPLAIN EXECUTE read_records (${arrayOf(ids)}, ${spanText(ids)})`, []));
  });
  expect(months.sort()).toEqual(['call_records_2026_11', 'call_records_2026_12']);
});

test('reading closed IDs for a load scans only the months of the IDs', async () => {
  // The same statement on a connection that plans it once for all values.
  await createLoadStore(pool).snapshot({ account: 'none', names: [], ids: IDS, now: NOW });
  const months = await inTransaction(pool, (tx) =>
    monthsLookedInto(tx.query(`EXPLAIN EXECUTE load_closed (${arrayOf(IDS)}, ${spanText(IDS)})`, [])),
  );
  expect(months).toEqual(['call_records_2026_11']);
});

test('a query without the span scans every month', async () => {
  const months = await inTransaction(pool, async (tx) => {
    await tx.query('SELECT id FROM usage_records WHERE id = ANY ($1::uuid[])', [IDS], { name: 'without_span' });
    return monthsLookedInto(tx.query(`EXPLAIN EXECUTE without_span (${arrayOf(IDS)})`, []));
  });
  expect(months.length).toBeGreaterThanOrEqual(MONTHS.length);
});

test('spanOf() returns the lowest and the highest ID', () => {
  expect(findIdSpan(IDS)).toEqual([IDS[1], IDS[0]]);
  expect(() => findIdSpan([])).toThrow(RangeError);
});
