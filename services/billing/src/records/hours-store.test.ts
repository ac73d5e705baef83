import { beforeAll, expect, test } from '@jest/globals';
import { makeUuidV7, timeOfUuidV7 } from '@gateway/contracts/ids';
import type { UsageEvent } from '@gateway/contracts/messages';
import { monthOf } from '@gateway/metering';
import { testSeed } from '@gateway/testkit/seed';
import { duringTests, onceUsed } from '@gateway/testkit/during-tests';
import { runAudit } from '../../test/audit.js';
import {
  toExpiredEvent,
  createHold,
  createPlanHold,
  seededRandom,
  createSettledEvent,
  toVoidedEvent,
} from '../../test/events.js';
import { ledgerVerbs } from '../../test/ledger-verbs.js';
import { startLedger } from '../../test/ledger-world.js';
import type { Movement } from '../finance/movements-store.js';
import { createUsageHoursStore } from './hours-store.js';
import { showKeyMonths } from './show-series.js';
import type { RecordsQuery } from './store.js';

/** Queries that use the hours must return the same as queries over the records and entries. */
const SEED = testSeed();
const HOUR = 3_600_000;
const MONTH_ENDS = Date.UTC(2026, 10, 1);
const BEGIN = MONTH_ENDS - 20 * HOUR;
const HOURS = 40;
const CALLS = 400;
const QUERIES = 150;
const ACCOUNTS = ['a', 'b'];
const KEYS = ['key-0', 'key-1', 'key-2', 'key-rare', 'key-unused'];
const MEMBERS = ['member-0', 'member-1', 'member-unused'];
const MODELS = ['acme/one', 'acme/two', 'acme/unused'];
const OUTCOMES = ['settled', 'voided', 'expired'] as const;

const random = seededRandom(SEED);
const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;

const ledger = duringTests(startLedger);
const verbs = onceUsed(() => ledgerVerbs(ledger));

beforeAll(async () => {
  for (const account of ACCOUNTS) {
    const spec = { amountUsd: '1.00', kind: 'credit' as const, reason: 'test', reference: `credit-${account}` };
    await verbs.fund(account, spec, BEGIN);
    await verbs.fund(account, { ...spec, amountUsd: '0.25', reference: `later-${account}` }, MONTH_ENDS);
  }
  const events = Array.from({ length: CALLS }, makeEvent);
  await verbs.settle(...events.filter(({ outcome }) => outcome === 'expired'));
  const late = events.flatMap((event) => (event.outcome === 'expired' && random() < 0.5 ? [lateOf(event)] : []));
  await verbs.settle(...events.filter(({ outcome }) => outcome !== 'expired'), ...late);
}, 60_000);

function makeEvent(): UsageEvent {
  // Often the first or last millisecond of an hour, to test the bounds.
  const at = BEGIN + Math.floor(random() * HOURS) * HOUR + pick([0, 1, HOUR - 1, Math.floor(random() * HOUR)]);
  const account = pick(ACCOUNTS);
  const key = random() < 0.01 ? 'key-rare' : pick(KEYS.slice(0, 3));
  const changes = { key, member: pick(MEMBERS.slice(0, 2)), model: pick(MODELS.slice(0, 2)) };
  const funding = random() < 0.3 ? createPlanHold(account, 2_000, 10_000) : createHold(account);
  const hold = { ...funding, ...changes, periods: { ...funding.periods, month: monthOf(at) } };
  const event = createSettledEvent(hold, pick([0, 1_000, 3_000]), { id: makeUuidV7(at) });
  return pick([event, event, event, event, event, event, toVoidedEvent(event), toExpiredEvent(event)]);
}

/** Returns the late event of a call that was recorded as expired. */
function lateOf({ hold, id }: UsageEvent): UsageEvent {
  return createSettledEvent(hold, 1_500, { id });
}

test(`searches find the same records as a full scan (TEST_SEED=${SEED})`, async () => {
  const { rows } = await ledger.pool.query<Record<string, string>>(
    `SELECT id, account, key_id AS key, member_id AS member, model_id AS model, outcome FROM usage_records ORDER BY id DESC`,
  );
  expect(rows).toHaveLength(CALLS);
  let found = 0;
  for (let round = 0; round < QUERIES; round += 1) {
    const sometimes = <T>(all: readonly T[], chance = 0.4): T | null => (random() < chance ? pick(all) : null);
    const times = Array.from({ length: HOURS }, (_, hour) => BEGIN + hour * HOUR + pick([0, 1, HOUR - 1]));
    const query: RecordsQuery = {
      account: sometimes(ACCOUNTS, 0.9),
      key: sometimes(KEYS),
      member: sometimes(MEMBERS),
      model: sometimes(MODELS),
      outcome: sometimes(OUTCOMES),
      from: sometimes(times),
      to: sometimes([...times, 9e15]),
      before: sometimes(rows)?.['id'] ?? null,
      requestId: null,
      limit: pick([1, 5, 50]),
    };
    const expected = rows.filter((row) => isWanted(row, query)).slice(0, query.limit);
    found += expected.length;
    const records = await verbs.records.records(query);
    expect({ query, ids: records.map(({ id }) => id) }).toEqual({ query, ids: expected.map(({ id }) => id) });
  }
  expect(found).toBeGreaterThan(QUERIES);
});

function isWanted(row: Record<string, string>, { from, to, before, limit: _, ...filters }: RecordsQuery): boolean {
  const id = row['id'] ?? '';
  const time = timeOfUuidV7(id);
  if ((from !== null && time < from) || (to !== null && time >= to) || (before !== null && id >= before)) return false;
  return Object.entries(filters).every(([name, value]) => value === null || row[name] === value);
}

const MONTHS = [
  [Date.UTC(2026, 9, 1), MONTH_ENDS],
  [MONTH_ENDS, Date.UTC(2026, 11, 1)],
] as const;

test(`a statement has the sums and counts of the ledger entries (TEST_SEED=${SEED})`, async () => {
  const kinds = new Set<string>();
  for (const account of ACCOUNTS) {
    let opening = 0n;
    for (const [from, to] of MONTHS) {
      const statement = await verbs.finance.statement(account, from, to, 100);
      const expected = await movementsOfEntries(account, from, to);
      expect(statement?.movements).toEqual(expected);
      const closing = expected.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, opening);
      expect([statement?.openingNanoUsd, statement?.closingNanoUsd]).toEqual([opening, closing]);
      for (const { kind } of expected) kinds.add(kind);
      opening = closing;
    }
  }
  expect([...kinds].sort()).toEqual(['credit', 'usage', 'usage_correction']);
  expect(await runAudit(ledger.pool)).toEqual([]);
});

async function movementsOfEntries(account: string, from: number, to: number): Promise<Movement[]> {
  const { rows } = await ledger.pool.query<{ kind: string; amount: string; transactions: bigint }>(
    `SELECT kind, sum(amount_nano_usd)::text AS amount, count(*) AS transactions
       FROM ledger_transactions head JOIN ledger_entries ON transaction_id = head.id AND ledger_account = 'wallet:' || $1
      WHERE head.id >= uuid_floor($2) AND head.id < uuid_floor($3) GROUP BY 1 ORDER BY 1`,
    [account, from, to],
  );
  return rows.map(({ kind, amount, transactions }) => ({
    kind,
    amountNanoUsd: BigInt(amount),
    transactions: Number(transactions),
  }));
}

test('showKeyMonths() returns the amounts that the caps count, only for charged keys', async () => {
  const { rows } = await ledger.pool.query<{ key: string; charged: string }>(
    `SELECT key_id AS key, sum(charged_nano_usd)::text AS charged FROM usage_records
      WHERE account = 'a' AND month = '2026-10' AND charged_nano_usd > 0 GROUP BY 1 ORDER BY 1`,
  );
  const store = createUsageHoursStore(ledger.pool);
  const request = async (account: string, keys: string[]) =>
    (await showKeyMonths(store, { account, month: '2026-10', keys })) as { rows: object[] };
  const shown = await request('a', [...KEYS].sort());
  expect(new Set(shown.rows)).toEqual(
    new Set(rows.map(({ key, charged }) => ({ key, chargedNanoUsd: Number(charged) }))),
  );
  expect(shown.rows.length).toBeGreaterThanOrEqual(3);
  expect(await request('nobody', KEYS)).toEqual({ rows: [] });
});
