import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import type { UsageEvent } from '@gateway/contracts/messages';
import { inTransaction, type Tx } from '@gateway/postgres';
import type { TestDatabase } from '@gateway/testkit';
import { createHold, toReceivedEvents, createSettledEvent, START } from '../../test/events.js';
import { type LedgerWorld, startLedgerWorld } from '../../test/ledger-world.js';
import { createMonths } from '../ledger/months.js';
import { settleBatch } from './settle-batch.js';
import {
  createCaches,
  createSettlementStore,
  LedgerSettlement,
  type SettlementStore,
} from './commit/settlement-store.js';

const MONTH_MS = 31 * 86_400_000;
const EVENTS = 20;

let world: LedgerWorld;
let ledger: TestDatabase;

beforeAll(async () => {
  world = await startLedgerWorld();
  ledger = await world.emptied();
}, 60_000);
afterAll(() => world.stop());

const eventAt = (account: string, at: number): UsageEvent => {
  const month = new Date(at).toISOString().slice(0, 7);
  const hold = createHold(account);
  const moved = { ...hold, periods: { ...hold.periods, month }, admittedAt: at };
  return createSettledEvent(moved, 10, { id: makeUuidV7(at), startedAt: at, firstByteAt: at, endedAt: at + 1 });
};

type Rows = ReadonlyMap<string, { readonly read: number; readonly written: number }>;

/** Returns the rows that the transaction has read and written so far, by table. */
async function figuresOf(tx: Tx): Promise<Rows> {
  const rows = await tx.query<{ name: string; read: number; written: number }>(
    `SELECT relname AS name, (seq_tup_read + idx_tup_fetch)::float8 AS read,
            (n_tup_ins + n_tup_upd + n_tup_del)::float8 AS written
       FROM pg_stat_xact_user_tables`,
  );
  return new Map(rows.map(({ name, ...figures }) => [name, figures]));
}

/** Returns the rows that settling these events reads and writes. */
async function readBalanceRows(
  events: readonly UsageEvent[],
): Promise<{ read: number; written: Record<string, number> }> {
  const written: Record<string, number> = {};
  let read = 0;
  const { ensureMonth } = createSettlementStore(ledger.pool);
  const store: SettlementStore = {
    ensureMonth,
    commit: (work) =>
      inTransaction(ledger.pool, async (tx) => {
        // Small tables would be read sequentially. Tables without an index still are.
        await tx.execute('SET LOCAL enable_seqscan = off');
        const before = await figuresOf(tx);
        const decision = await work(new LedgerSettlement(tx, createCaches()));
        for (const [name, after] of await figuresOf(tx)) {
          const { read: readBefore = 0, written: writtenBefore = 0 } = before.get(name) ?? {};
          read += after.read - readBefore;
          if (after.written > writtenBefore) written[name] = after.written - writtenBefore;
        }
        return decision;
      }),
  };
  await settleBatch(store, createMonths(store), {
    received: toReceivedEvents(...events),
    deadLetters: [],
    applied: [],
  });
  return { read, written };
}

/** Adds known accounts with three balances each, and updates the planner's statistics. */
async function fill(accounts: number): Promise<void> {
  const names = `SELECT 'filled-' || n AS account FROM generate_series(1, ${accounts}) AS n`;
  await ledger.admin.query(`
    SET search_path = billing;
    INSERT INTO accounts (account, version) SELECT account, 1 FROM (${names}) name ON CONFLICT DO NOTHING;
    INSERT INTO balances (account, name, value, version)
      SELECT account, kind, 1, 1 FROM (${names}) name, unnest(ARRAY['wallet', 'km:k:2026-11', 'mm:m:2026-11']) AS kind
      ON CONFLICT DO NOTHING;
    ANALYZE`);
}

const callsOf = (account: string): UsageEvent[] => Array.from({ length: EVENTS }, () => eventAt(account, START));

test('a batch reads and writes the same number of rows in a larger ledger', async () => {
  await fill(2_000);
  await readBalanceRows(callsOf('alone'));
  const alone = await readBalanceRows(callsOf('alone'));
  const store = createSettlementStore(ledger.pool);
  for (let month = 0; month < 6; month += 1) {
    const events = Array.from({ length: 500 }, (_, n) =>
      eventAt(n % 2 === 0 ? 'alone' : `other-${n}`, START - month * MONTH_MS),
    );
    await settleBatch(store, createMonths(store), {
      received: toReceivedEvents(...events),
      deadLetters: [],
      applied: [],
    });
  }
  await fill(6_000);
  const beside = await readBalanceRows(callsOf('alone'));
  expect(beside.written).toEqual(alone.written);
  // Dead versions of the few rows that every batch changes are read until they are vacuumed.
  expect(beside.read).toBeLessThanOrEqual(alone.read + EVENTS);
});
