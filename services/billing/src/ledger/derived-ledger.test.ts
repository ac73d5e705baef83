import { beforeAll, expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import type { AttemptRecord, UsageEvent } from '@gateway/contracts/messages';
import type { LedgerEntryLine } from '@gateway/contracts/operator';
import { formatUsd } from '@gateway/metering';
import { inTransaction, onPool } from '@gateway/postgres';
import { duringTests } from '@gateway/testkit/during-tests';
import { testSeed } from '@gateway/testkit/seed';
import { readLedgerValues, runAudit } from '../../test/audit.js';
import {
  toExpiredEvent,
  createHold,
  PLAIN_PRICE,
  createPlanHold,
  toReceivedEvents,
  createSettledEvent,
  tokens,
  toVoidedEvent,
} from '../../test/events.js';
import { seededRandom } from '../../test/events.js';
import { startLedger } from '../../test/ledger-world.js';
import { ledgerVerbs } from '../../test/ledger-verbs.js';
import type { UsageRecord } from '../records/rules.js';
import { readRecords } from '../records/store.js';
import { prepareEvents } from '../usage/decide/prepare-rules.js';
import type { LedgerTransaction } from './rules.js';

const SEED = testSeed();
const random = seededRandom(SEED);
const pick = (max: number): number => Math.floor(random() * max);
const oneIn = (many: number): boolean => pick(many) === 0;

const MONTH_START = Date.UTC(2026, 10, 1);
const MONTH_MS = 30 * 86_400_000;
const CALLS = 400;

const ledger = duringTests(startLedger);
/**
 * The calls' transactions as the rules compute them; the database derives them from the records.
 */
const stored: LedgerTransaction[] = [];
/** The record with the highest rank for each call. */
const records = new Map<string, UsageRecord>();

/**
 * Creates a month of calls: settled, voided, expired and corrected ones with random attempts, paid
 * by plan and wallet.
 */
beforeAll(async () => {
  const verbs = ledgerVerbs(ledger);
  for (let account = 0; account < 6; account += 1)
    await verbs.fund(
      `account-${account}`,
      { kind: 'credit', amountUsd: '0.000001', reason: 'paid', reference: `r${account}` },
      MONTH_START + account,
    );
  const calls = Array.from({ length: CALLS }, randomCall);
  const late = calls.filter(() => oneIn(5));
  const deliveries = [
    ...calls.map((call) => (late.includes(call) ? randomExpired(call) : call)),
    ...late.filter(() => !oneIn(4)),
  ];
  // Shuffles the events, so that some batches contain both ranks of a call.
  for (let at = deliveries.length - 1; at > 0; at -= 1) {
    const to = Math.max(0, at - pick(30));
    [deliveries[at], deliveries[to]] = [deliveries[to] as UsageEvent, deliveries[at] as UsageEvent];
  }
  while (deliveries.length > 0) {
    const batch = deliveries.splice(0, 1 + pick(60));
    const decision = await verbs.settle(...batch);
    expect(decision.deadLetters).toEqual([]);
    stored.push(...decision.transactions);
    for (const { record } of prepareEvents(toReceivedEvents(...batch)).accepted)
      if (record.rank >= (records.get(record.id)?.rank ?? 0)) records.set(record.id, record);
  }
}, 120_000);

function randomCall(): UsageEvent {
  const account = `account-${pick(6)}`;
  const time = MONTH_START + pick(MONTH_MS);
  const funding = oneIn(2) ? createHold(account) : createPlanHold(account, pick(80), pick(60));
  const hold = {
    ...funding,
    key: `key-${pick(9)}`,
    model: `acme/${pick(3)}`,
    admittedAt: time + pick(20),
    windows: funding.windows.slice(0, pick(5)),
    periods: {
      ...funding.periods,
      month: oneIn(9) ? '2026-10' : '2026-11',
      session5h: oneIn(3) ? null : funding.periods.session5h,
    },
  };
  // Counts and times of any size, including zero.
  const amount = oneIn(6) ? 0 : oneIn(20) ? 3_000_000_000 + pick(1_000) : pick(150);
  const started = oneIn(20) ? pick(1_000_000) : time;
  const call = createSettledEvent(hold, amount, {
    id: makeUuidV7(time),
    startedAt: started,
    firstByteAt: oneIn(4) ? null : started + pick(500),
    endedAt: started + 500 + pick(oneIn(20) ? 8_000_000_000_000 : 5_000),
    attempts: randomAttempts(amount),
  });
  return oneIn(8) ? { ...toVoidedEvent(call), attempts: randomAttempts(amount) } : call;
}

/**
 * One attempt that equals its record, none, a different one, or several; with known, zero and
 * unknown costs.
 */
function randomAttempts(amount: number): AttemptRecord[] {
  const plain: AttemptRecord = {
    source: 'source-1',
    provider: `provider-${pick(3)}`,
    outcome: 'completed',
    status: 200,
    possiblyPaid: true,
    usage: tokens(amount),
    cost: PLAIN_PRICE,
  };
  if (oneIn(2)) return [plain];
  return Array.from({ length: pick(5) }, () => ({
    ...plain,
    source: `source-${pick(3)}`,
    provider: `provider-${pick(3)}`,
    outcome: oneIn(2) ? ('broken' as const) : ('completed' as const),
    status: oneIn(3) ? null : 200,
    possiblyPaid: oneIn(2),
    usage: oneIn(4) ? null : tokens(oneIn(4) ? 0 : pick(90), pick(9)),
    cost: oneIn(4) ? null : { ...PLAIN_PRICE, version: `cost-${pick(3)}` },
  }));
}

/** The sweep does not know attempts, but the event format allows them. */
function randomExpired(call: UsageEvent): UsageEvent {
  return { ...toExpiredEvent(call), attempts: oneIn(2) ? randomAttempts(50) : oneIn(3) ? call.attempts : [] };
}

interface Row {
  readonly id: string;
  readonly kind: string;
  readonly account: string;
  readonly request_id: string | null;
  readonly corrects: string | null;
}

test(`derived heads and entries equal the computed ones (TEST_SEED=${SEED})`, async () => {
  const byId = (one: { id: string }, other: { id: string }): number => (one.id < other.id ? -1 : 1);
  const heads = await onPool(ledger.pool).query<Row>(
    `SELECT id, kind, account, request_id, corrects FROM ledger_transactions WHERE kind LIKE 'usage%'`,
  );
  expect(heads.sort(byId)).toEqual(
    stored
      .map(({ id, kind, account, requestId, corrects }) => ({ id, kind, account, request_id: requestId, corrects }))
      .sort(byId),
  );
  expect(new Set(heads.map(({ kind }) => kind))).toEqual(new Set(['usage', 'usage_correction']));
  const entries = await onPool(ledger.pool).query<{ text: string }>(
    `SELECT concat_ws(' ', transaction_id, ordinal, ledger_account, amount_nano_usd) AS text
       FROM ledger_entries WHERE NOT EXISTS (SELECT FROM wallet_entries money WHERE money.transaction_id = ledger_entries.transaction_id)`,
  );
  expect(entries.map(({ text }) => text).sort()).toEqual(
    stored
      .flatMap(({ id, entries: of }) =>
        of.map(({ ledgerAccount, amountNanoUsd }, at) => `${id} ${at + 1} ${ledgerAccount} ${amountNanoUsd}`),
      )
      .sort(),
  );
});

test(`sums by ledger account are equal, and the audit passes (TEST_SEED=${SEED})`, async () => {
  const sums = new Map<string, bigint>();
  for (const { entries } of stored)
    for (const { ledgerAccount, amountNanoUsd } of entries)
      sums.set(ledgerAccount, (sums.get(ledgerAccount) ?? 0n) + amountNanoUsd);
  for (let account = 0; account < 6; account += 1)
    sums.set(`wallet:account-${account}`, (sums.get(`wallet:account-${account}`) ?? 0n) + 1_000n);
  const found = await readLedgerValues(ledger.pool);
  for (const [name, sum] of sums) expect([name, found[name]]).toEqual([name, String(sum)]);
  expect(await runAudit(ledger.pool)).toEqual([]);
});

test(`exports contain the same lines in the same order (TEST_SEED=${SEED})`, async () => {
  const { text } = await ledgerVerbs(ledger).entriesFile();
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as LedgerEntryLine)
    .filter(({ kind }) => kind.startsWith('usage'));
  const expected = [...stored]
    .sort((one, other) => (one.id < other.id ? -1 : 1))
    .flatMap((transaction) => transaction.entries.map((entry, at) => ({ ...transaction, ...entry, at: at + 1 })));
  expect(
    lines.map(({ entryId, kind, accountId, requestId, corrects, ledgerAccount, amountUsd }) => [
      entryId,
      kind,
      accountId,
      requestId,
      corrects,
      ledgerAccount,
      amountUsd,
    ]),
  ).toEqual(
    expected.map(({ id, at, kind, account, requestId, corrects, ledgerAccount, amountNanoUsd }) => [
      `${id}.${at}`,
      kind,
      account,
      requestId,
      corrects,
      ledgerAccount,
      formatUsd(amountNanoUsd),
    ]),
  );
});

test(`stored records equal the written ones of the highest rank (TEST_SEED=${SEED})`, async () => {
  const found = await inTransaction(ledger.pool, (tx) => readRecords(tx, [...records.keys()]));
  for (const [id, record] of records) expect(found.get(id)).toEqual(record);
  expect(await onPool(ledger.pool).query('SELECT FROM usage_records')).toHaveLength(records.size);
  const [ranks] = await onPool(ledger.pool).query<{ lower: bigint }>(
    'SELECT count(*) AS lower FROM call_records WHERE rank = 1',
  );
  expect(ranks?.lower).toBeGreaterThan(10n);
});
