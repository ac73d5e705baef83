import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import type { BalanceSnapshot, UsageEvent } from '@gateway/contracts/messages';
import { formatUsd } from '@gateway/metering';
import { onPool } from '@gateway/postgres';
import type { TestDatabase } from '@gateway/testkit';
import { testSeed } from '@gateway/testkit/seed';
import { readLedgerValues, runAudit } from '../../test/audit.js';
import {
  toExpiredEvent,
  createHold,
  createPlanHold,
  toReceivedEvents,
  seededRandom,
  createSettledEvent,
  START,
  toVoidedEvent,
} from '../../test/events.js';
import { type LedgerWorld, startLedgerWorld } from '../../test/ledger-world.js';
import { createMonths } from '../ledger/months.js';
import { toRecordView } from '../records/show-records.js';
import { createRecordStore } from '../records/store.js';
import type { BatchDecision } from './decide/batch-ledger-rules.js';
import { settleBatch } from './settle-batch.js';
import { createSettlementStore } from './commit/settlement-store.js';

let world: LedgerWorld;
let ledger: TestDatabase;

beforeAll(async () => {
  world = await startLedgerWorld();
}, 60_000);
beforeEach(async () => {
  ledger = await world.emptied();
});
afterAll(() => world.stop());

function settle(events: readonly UsageEvent[], on = ledger): Promise<BatchDecision> {
  const store = createSettlementStore(on.pool);
  return settleBatch(store, createMonths(store), {
    received: toReceivedEvents(...events),
    deadLetters: [],
    applied: [],
  });
}

async function row(account: string, name: string): Promise<bigint | null> {
  const found = await onPool(ledger.pool).one<{ value: bigint }>(
    'SELECT value FROM balances WHERE account = $1 AND name = $2',
    [account, name],
  );
  return found?.value ?? null;
}

test('a wallet-funded call charges the wallet and counts for key and member', async () => {
  const event = createSettledEvent(createHold('a'), 70);
  const { outcomes } = await settle([event]);
  expect(outcomes).toEqual(['settled']);
  expect(await readLedgerValues(ledger.pool)).toEqual({
    'a km:key-a:2026-11': '70',
    'a mm:member-a:2026-11': '70',
    'a wallet': '-70',
    cost: '-70',
    'provider-cost:provider-1': '70',
    'revenue:wallet': '70',
    'wallet:a': '-70',
    [`record ${event.id}`]: 'settled 70',
  });
  expect(await runAudit(ledger.pool)).toEqual([]);
});

// Covers r7
test('a plan-funded call charges the plan, then the wallet, then the plan again', async () => {
  await settle([createSettledEvent(createPlanHold('a', 50, 30), 100)]);
  const balances = await readLedgerValues(ledger.pool);
  expect(balances).toMatchObject({
    'wallet:a': '-30',
    'plan:a:sub-1': '-70',
    'revenue:plan': '70',
    'revenue:wallet': '30',
    'a wallet': '-30',
    [`a w:weekly:requests:${Date.UTC(2026, 10, 16)}`]: '1',
    [`a w:weekly:usd:${Date.UTC(2026, 10, 16)}`]: '70',
    [`a w:session_5h:usd:${START - 60_000}`]: '70',
    'a w:monthly:usd:sub-1': '70',
    'a al:requests:acme/one:sub-1': '1',
    'a km:key-a:2026-11': '100',
  });
  expect(await runAudit(ledger.pool)).toEqual([]);
});

test.each(['voided', 'expired'] as const)('a call that was %s leaves only a record', async (outcome) => {
  const event = createSettledEvent(createPlanHold('a', 50, 30), 100);
  await settle([outcome === 'voided' ? toVoidedEvent(event) : toExpiredEvent(event)]);
  expect(await readLedgerValues(ledger.pool)).toEqual({ [`record ${event.id}`]: `${outcome} 0` });
});

test('the cost of a voided call is recorded without a charge to the customer', async () => {
  const event = createSettledEvent(createHold('a'), 100);
  await settle([{ ...toVoidedEvent(event), attempts: event.attempts }]);
  expect(await readLedgerValues(ledger.pool)).toEqual({
    cost: '-100',
    'provider-cost:provider-1': '100',
    [`record ${event.id}`]: 'voided 0',
  });
});

test.each([
  ['is the reported one', 65, '65'],
  ['is the computed one if the reported one exceeds it 100 times', 10_001, '100'],
])('cost of an attempt %s', async (_name, reportedCostNanoUsd, posted) => {
  const event = createSettledEvent(createHold('a'), 100);
  await settle([{ ...event, attempts: event.attempts.map((attempt) => ({ ...attempt, reportedCostNanoUsd })) }]);
  expect(await readLedgerValues(ledger.pool)).toMatchObject({ cost: `-${posted}`, 'provider-cost:provider-1': posted });
  const found = await createRecordStore(ledger.pool).record(event.id);
  expect(found?.record.costNanoUsd).toBe(BigInt(posted));
  expect(found?.record.attempts).toMatchObject([{ reportedCostNanoUsd, costNanoUsd: BigInt(posted) }]);
  await settle([createSettledEvent(createHold('a'), 100)]);
  const any = { account: null, from: null, to: null, before: null, key: null, member: null, model: null };
  const query = { ...any, outcome: null, requestId: null, limit: 9 };
  const records = createRecordStore(ledger.pool);
  expect(await records.records(query)).toHaveLength(2);
  const [reported, ...others] = await records.records({ ...query, reportsCost: true });
  expect([reported?.id, others]).toEqual([event.id, []]);
  expect(reported && toRecordView(reported).attempts).toMatchObject([
    { reportedCostUsd: formatUsd(BigInt(reportedCostNanoUsd)) },
  ]);
  expect(await runAudit(ledger.pool)).toEqual([]);
});

describe('deliveries of one call', () => {
  const paid = createSettledEvent(createPlanHold('a', 50, 30), 100);
  const deliveries: Record<string, UsageEvent> = {
    settle: paid,
    again: paid,
    expire: toExpiredEvent(paid),
    'expire again': { ...toExpiredEvent(paid), endedAt: START + 99_000 },
  };
  const names = Object.keys(deliveries);

  // Covers r7; events come twice, late, re-ordered, broken
  test.each([1, 2, 4])(
    'in any order, in batches of %s, give the same balances',
    async (size) => {
      const orders = permutations(names);
      for (const [index, order] of orders.entries()) {
        const account = `a${index}`;
        const id = makeUuidV7(START);
        const events = order.map((name) => deliveryTo(account, id, deliveries[name] as UsageEvent));
        for (let at = 0; at < events.length; at += size)
          expect((await settle(events.slice(at, at + size))).deadLetters).toEqual([]);
        expect(await readLedgerValues(ledger.pool)).toMatchObject({
          [`wallet:${account}`]: '-30',
          [`plan:${account}:sub-1`]: '-70',
          [`${account} wallet`]: '-30',
          [`${account} w:weekly:requests:${Date.UTC(2026, 10, 16)}`]: '1',
          cost: String(-100 * (index + 1)),
          [`record ${id}`]: 'settled 100',
        });
      }
      expect(await runAudit(ledger.pool)).toEqual([]);
    },
    30_000,
  );

  // Covers r7
  test('with other content at the same rank become dead letters; the first one is kept', async () => {
    await settle([paid]);
    const { outcomes, deadLetters, closed } = await settle([
      createSettledEvent(createPlanHold('a', 50, 30), 90, { id: paid.id }),
    ]);
    expect(outcomes).toEqual(['dead_letter']);
    expect(deadLetters[0]).toMatchObject({ reason: 'other_content', requestId: paid.id });
    expect(closed[0]).toMatchObject({ id: paid.id });
    expect(closed[0]?.rows).toContain('wallet');
    expect((await readLedgerValues(ledger.pool))[`record ${paid.id}`]).toBe('settled 100');
    expect(await onPool(ledger.pool).query('SELECT reason, account FROM dead_letters')).toEqual([
      { reason: 'other_content', account: 'a' },
    ]);
  });

  test('that become a dead letter twice are stored once', async () => {
    const other = createSettledEvent(createPlanHold('a', 50, 30), 90, { id: paid.id });
    await settle([paid, other]);
    await settle([other]);
    expect(await onPool(ledger.pool).query('SELECT FROM dead_letters')).toHaveLength(1);
  });

  test('with another account become dead letters', async () => {
    await settle([paid]);
    const { deadLetters } = await settle([createSettledEvent(createHold('b'), 100, { id: paid.id })]);
    expect(deadLetters).toMatchObject([{ reason: 'other_account' }]);
    expect(await row('b', 'wallet')).toBeNull();
  });

  test('that correct a record refer to it', async () => {
    await settle([toExpiredEvent(paid)]);
    await settle([paid]);
    expect(await onPool(ledger.pool).query('SELECT kind, corrects FROM ledger_transactions')).toEqual([
      { kind: 'usage_correction', corrects: paid.id },
    ]);
  });

  // Covers r8
  test('that correct a record are published until admission applies them', async () => {
    const snapshots = () =>
      onPool(ledger.pool).query<{ key: string; body: { snapshot: BalanceSnapshot } }>('SELECT key, body FROM outbox');
    await settle([toExpiredEvent(paid)]);
    await settle([createSettledEvent(createHold('a'), 5)]);
    expect(await snapshots()).toEqual([]);
    await settle([paid, createSettledEvent(createHold('a'), 1), createSettledEvent(createHold('b'), 2)]);
    await settle([paid]);
    const published = await snapshots();
    expect(published).toMatchObject([{ key: 'a', body: { snapshot: { account: 'a', closed: [paid.id] } } }]);
    expect(published[0]?.body.snapshot.rows).toContainEqual({
      name: 'wallet',
      value: Number(await row('a', 'wallet')),
      version: 2,
    });
  });
});

describe('an event becomes a dead letter alone', () => {
  const good = createSettledEvent(createHold('a'), 10);
  const bad: Record<string, UsageEvent> = {
    'whose amount differs from its usage and price': { ...createSettledEvent(createHold('a'), 10), amountNanoUsd: 11 },
    'that was voided and has an amount': {
      ...toVoidedEvent(createSettledEvent(createHold('a'), 10)),
      amountNanoUsd: 10,
    },
    'that expired with the rank of an edge': { ...toExpiredEvent(createSettledEvent(createHold('a'), 10)), rank: 2 },
    'whose price differs from the price of its hold': createSettledEvent(createHold('a', { priceVersion: 'p2' }), 10),
    'with a plan part and without a period': createSettledEvent(
      createHold('a', { planMaxNanoUsd: 10, walletMaxNanoUsd: 0 }),
      10,
    ),
    'with an invalid month': createSettledEvent(
      createHold('a', { periods: { ...good.hold.periods, month: '0001-01' } }),
      10,
    ),
    // Covers r16
    'with an ID outside the months of the ledger': {
      ...createSettledEvent(createHold('a'), 10),
      id: makeUuidV7(Date.UTC(2019, 1)),
    },
    'that would exceed the bounds of a balance': createSettledEvent(createHold('a'), 8_999_999_999_999_999),
  };

  test.each(Object.keys(bad))('%s', async (name) => {
    const event = bad[name] as UsageEvent;
    const { outcomes, closed, deadLetters } = await settle([good, event]);
    expect(outcomes.toSorted()).toEqual(['dead_letter', 'settled']);
    expect(closed.map(({ id }) => id)).toContain(event.id);
    expect(deadLetters).toMatchObject([{ requestId: event.id, account: 'a' }]);
    expect(await row('a', 'wallet')).toBe(-10n);
    expect(await runAudit(ledger.pool)).toEqual([]);
  });
});

// Covers r16; a month, week or session ends in mid-call
test("a call belongs to its ID's partition and its admission month when settled late", async () => {
  const end = Date.UTC(2026, 11, 1);
  const events = [end - 1, end].map((time) =>
    createSettledEvent(
      createHold('a', { admittedAt: time, periods: { ...createHold('a').periods, month: '2026-11' } }),
      10,
      {
        id: makeUuidV7(time),
      },
    ),
  );
  await settle(events);
  await settle(events);
  const partitions = await onPool(ledger.admin).query<{ name: string }>(
    'SELECT tableoid::regclass::text AS name FROM billing.call_records ORDER BY id',
  );
  expect(partitions.map(({ name }) => name)).toEqual(['call_records_2026_11', 'call_records_2026_12']);
  expect(await row('a', 'km:key-a:2026-11')).toBe(20n);
});

// Covers i2
test('concurrent workers charge each event once', async () => {
  const events = Array.from({ length: 60 }, (_, index) => createSettledEvent(createHold(`account-${index % 7}`), 10));
  const backwards = [...events].reverse();
  const batches = await Promise.all([settle(events), settle(backwards), settle(events.slice(20)), settle(backwards)]);
  const outcomes = batches.flatMap(({ outcomes }) => outcomes);
  expect(outcomes.filter((outcome) => outcome === 'settled')).toHaveLength(60);
  expect(outcomes.filter((outcome) => outcome === 'repeated')).toHaveLength(60 * 3 - 20);
  const { cost } = await readLedgerValues(ledger.pool);
  expect(cost).toBe('-600');
  expect(await runAudit(ledger.pool)).toEqual([]);
});

test('versions grow with each change, and balances keep the version of their change', async () => {
  const one = createSettledEvent(createHold('a', { key: 'one' }), 10);
  await settle([one]);
  const { rowsAfter } = await settle([createSettledEvent(createHold('a', { key: 'two' }), 5)]);
  expect(rowsAfter.get('a')?.get('wallet')).toMatchObject({ value: -15n, version: 2n });
  expect(rowsAfter.get('a')?.get('km:two:2026-11')).toMatchObject({ value: 5n, version: 2n });
  const again = await settle([one]);
  expect(again.rowsAfter.get('a')?.get('km:one:2026-11')).toMatchObject({ value: 10n, version: 1n });
  expect(again.rowsAfter.get('a')?.get('wallet')).toMatchObject({ version: 2n });
  expect(again.closed).toMatchObject([{ id: one.id, rows: expect.arrayContaining(['wallet', 'km:one:2026-11']) }]);
});

const SEED = testSeed();

test(`a random run in any order gives the same balances (TEST_SEED=${SEED})`, async () => {
  const random = seededRandom(SEED);
  const pick = (max: number): number => Math.floor(random() * max);
  const calls = Array.from({ length: 300 }, () => randomCall(pick));
  const deliveries = calls.flatMap((event) => {
    const ends = [event, ...(pick(4) === 0 ? [toExpiredEvent(event)] : []), ...(pick(3) === 0 ? [event] : [])];
    return pick(10) === 0 ? [toExpiredEvent(event)] : ends;
  });
  const other = await world.ledger();
  for (const on of [ledger, other]) {
    const order = shuffled(deliveries, random);
    while (order.length > 0) await settle(order.splice(0, 1 + pick(40)), on);
    expect(await runAudit(on.pool)).toEqual([]);
  }
  expect(await readLedgerValues(other.pool)).toEqual(await readLedgerValues(ledger.pool));
  const records = await onPool(ledger.pool).query('SELECT FROM usage_records');
  expect(records).toHaveLength(calls.length);
}, 60_000);

function randomCall(pick: (max: number) => number): UsageEvent {
  const account = `account-${pick(12)}`;
  const hold = pick(2) === 0 ? createHold(account) : createPlanHold(account, pick(80), pick(60));
  const event = createSettledEvent({ ...hold, key: `key-${pick(3)}`, model: `acme/${pick(3)}` }, pick(150));
  return pick(8) === 0 ? toVoidedEvent(event) : event;
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, at: random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item);
}

function deliveryTo(account: string, id: string, event: UsageEvent): UsageEvent {
  return { ...event, id, hold: { ...event.hold, account } };
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length <= 1) return [[...items]];
  return items.flatMap((item, index) =>
    permutations([...items.slice(0, index), ...items.slice(index + 1)]).map((rest) => [item, ...rest]),
  );
}
