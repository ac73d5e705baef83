import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { usageEvents } from '@gateway/contracts/messages';
import { onPool } from '@gateway/postgres';
import type { TestDatabase } from '@gateway/testkit';
import { testSeed } from '@gateway/testkit/seed';
import { runAudit } from '../../test/audit.js';
import { readLedger, DisturbedWorld, killProcess } from '../../test/disturbed-world.js';
import { Traffic } from '../../test/kill-rounds.js';
import { readLedgerState } from '../ledger/store.js';
import { createProgressStore, createRestoreStore } from '../stream/progress-store.js';
import { restoreLedger } from './restore-ledger.js';

const SEED = testSeed();

let world: DisturbedWorld;

beforeAll(async () => {
  world = await DisturbedWorld.start();
}, 60_000);
afterAll(() => world.stop(), 60_000);

/** Creates another ledger that consumes the same stream. */
async function otherLedger(): Promise<TestDatabase> {
  const other = await world.ledgers.ledger();
  await other.pool.query('SELECT begin_ledger_epoch()');
  return other;
}

// Covers r17
test(`a restored ledger settles everything since the backup (TEST_SEED=${SEED})`, async () => {
  const traffic = new Traffic([0, 1, 2, 3], SEED);
  const store = async (rounds: number): Promise<void> => {
    for (let round = 0; round < rounds; round += 1) await world.store(traffic.round(), 3);
  };
  // The copy sees the first part only, like a backup of that time. The original ledger continues
  // and is lost.
  const copy = await otherLedger();
  await store(20);
  const workers = [world.worker(), world.worker({ ledger: copy })];
  await Promise.all([world.settled(), world.settled(copy)]);
  await killProcess(workers[1] as (typeof workers)[number]);
  await store(20);
  await world.settled();
  await killProcess(workers[0] as (typeof workers)[number]);
  expect(await readLedger(copy.pool)).not.toEqual(await readLedger(world.ledger.pool));

  const before = (await readLedgerState(copy.pool)).ledgerEpoch;
  const stream = await world.billing.streamState(usageEvents.stream);
  const outcome = await restoreLedger(createRestoreStore(copy.pool), stream, false);
  const { ledgerEpoch } = await readLedgerState(copy.pool);
  expect(outcome).toMatchObject({ kind: 'restored', ledgerEpoch, lost: 0 });
  expect(ledgerEpoch).not.toBe(before);
  const published = await onPool(copy.pool).query<{ account: string; rows: unknown[] }>(
    `SELECT key AS account, body -> 'snapshot' -> 'rows' AS rows FROM outbox WHERE topic = 'balance-snapshot' ORDER BY key`,
  );
  const accounts = await onPool(copy.pool).query<{ account: string }>('SELECT account FROM accounts ORDER BY account');
  expect(published).toEqual(accounts.map(({ account }) => ({ account, rows: [] })));

  const again = world.worker({ ledger: copy });
  await world.settled(copy);
  await killProcess(again);
  expect(await readLedger(copy.pool)).toEqual(await readLedger(world.ledger.pool));
  expect(await runAudit(copy.pool)).toEqual([]);
}, 120_000);

// Covers i8
test('settling the whole stream into an empty ledger gives the same balances', async () => {
  const empty = await otherLedger();
  const worker = world.worker({ ledger: empty });
  await world.settled(empty);
  await killProcess(worker);
  expect(await readLedger(empty.pool)).toEqual(await readLedger(world.ledger.pool));
}, 120_000);

// Covers r17
test('restoring reports messages that have left the stream, and requires acceptance', async () => {
  const copy = await world.ledgers.ledger();
  const store = createRestoreStore(copy.pool);
  const before = (await readLedgerState(copy.pool)).ledgerEpoch;
  const trimmed = { firstSequence: 8, lastSequence: 20, firstAt: Date.UTC(2026, 0), lastAt: Date.UTC(2026, 1) };
  expect(await restoreLedger(store, trimmed, false)).toEqual({ kind: 'gap', lost: 7, floor: 0, first: 8 });
  expect((await readLedgerState(copy.pool)).ledgerEpoch).toBe(before);
  expect(await restoreLedger(store, trimmed, true)).toMatchObject({ kind: 'restored', lost: 7, toSettle: 13 });
  expect(await createProgressStore(copy.pool).settledPosition()).toEqual({
    sequence: 7,
    storedAtMs: Date.UTC(2026, 0),
  });
});
