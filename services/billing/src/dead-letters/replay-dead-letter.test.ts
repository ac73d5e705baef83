import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { onPool } from '@gateway/postgres';
import type { TestDatabase } from '@gateway/testkit';
import { readLedgerValues, runAudit } from '../../test/audit.js';
import { createHold, packMessage, createSettledEvent } from '../../test/events.js';
import { type LedgerWorld, startLedgerWorld } from '../../test/ledger-world.js';
import { createMonths } from '../ledger/months.js';
import { createDeadLetterStore, type StoredDeadLetter } from './store.js';
import { buildDeadLetter } from '../usage/decide/prepare-rules.js';
import { readDelivery } from '../usage/read/read-deliveries.js';
import { replayDeadLetter } from './replay-dead-letter.js';
import { settleBatch } from '../usage/settle-batch.js';
import { createSettlementStore } from '../usage/commit/settlement-store.js';

let world: LedgerWorld;
let ledger: TestDatabase;

beforeAll(async () => {
  world = await startLedgerWorld();
}, 60_000);
beforeEach(async () => {
  ledger = await world.emptied();
});
afterAll(() => world.stop());

const event = createSettledEvent(createHold('a'), 70);

async function deliver(...events: unknown[]): Promise<void> {
  const store = createSettlementStore(ledger.pool);
  const { received, deadLetters } = readDelivery(packMessage(events), { subject: 0, sequence: 1 });
  await settleBatch(store, createMonths(store), { received, deadLetters, applied: [] });
}

async function listed(all = false): Promise<StoredDeadLetter[]> {
  const rows: StoredDeadLetter[] = [];
  for await (const row of createDeadLetterStore(ledger.pool).list(all)) rows.push(row);
  return rows;
}

/** Makes the database reject the event during `work`, for a reason that can be fixed. */
async function whileRefused(work: () => Promise<void>): Promise<void> {
  await ledger.admin.query(
    `ALTER TABLE billing.call_records ADD CONSTRAINT broken CHECK (charged_nano_usd <> 70) NOT VALID`,
  );
  try {
    await work();
  } finally {
    await ledger.admin.query('ALTER TABLE billing.call_records DROP CONSTRAINT broken');
  }
}

async function refusedByDatabase(): Promise<string> {
  const { received } = readDelivery(packMessage([event]), { subject: 0, sequence: 1 });
  const store = createSettlementStore(ledger.pool);
  await whileRefused(() =>
    expect(settleBatch(store, createMonths(store), { received, deadLetters: [], applied: [] })).rejects.toThrow(
      /broken/,
    ),
  );
  const [receivedEvent] = received;
  if (receivedEvent === undefined) throw new Error('the event could not be read');
  await settleBatch(store, createMonths(store), {
    received: [],
    deadLetters: [buildDeadLetter(receivedEvent, 'refused_by_database', 'broken')],
    applied: [],
  });
  return receivedEvent.contentHash;
}

test('a dead letter is listed, settles after the fix, and is published to admission', async () => {
  const hash = await refusedByDatabase();
  expect(await listed()).toMatchObject([{ contentHash: hash, requestId: event.id, reason: 'refused_by_database' }]);
  expect(await replayDeadLetter(createDeadLetterStore(ledger.pool), hash, 'operator:ada')).toEqual(['settled']);
  expect(await readLedgerValues(ledger.pool)).toMatchObject({
    'a wallet': '-70',
    [`record ${event.id}`]: 'settled 70',
  });
  expect(await listed()).toEqual([]);
  expect(await listed(true)).toMatchObject([{ contentHash: hash, replays: 1, lastOutcomes: ['settled'] }]);
  const [published] = await onPool(ledger.pool).query<{ body: unknown }>('SELECT body FROM outbox');
  expect(published).toMatchObject({ body: { snapshot: { account: 'a', closed: [event.id] } } });
  expect(await runAudit(ledger.pool)).toEqual([]);
});

test('a replayed event that is delivered again is a repetition, and vice versa', async () => {
  const hash = await refusedByDatabase();
  const store = createDeadLetterStore(ledger.pool);
  await replayDeadLetter(store, hash, 'operator:ada');
  await deliver(event);
  expect(await replayDeadLetter(store, hash, 'operator:ada')).toEqual(['repeated']);
  expect(await readLedgerValues(ledger.pool)).toMatchObject({ 'a wallet': '-70' });
  expect(await listed(true)).toHaveLength(1);
});

test('an event that is still invalid becomes a dead letter again', async () => {
  await deliver({ ...event, amountNanoUsd: 71 }, { id: event.id, rank: 9 });
  const rows = await listed();
  expect(rows.map(({ reason }) => reason).sort()).toEqual(['amount', 'unreadable']);
  for (const { contentHash } of rows)
    expect(await replayDeadLetter(createDeadLetterStore(ledger.pool), contentHash, 'operator:ada')).toEqual([
      'dead_letter',
    ]);
  expect(await listed()).toMatchObject([{ replays: 1 }, { replays: 1 }]);
});

test('replayDeadLetter() returns null for an unknown hash', async () => {
  expect(await replayDeadLetter(createDeadLetterStore(ledger.pool), '0'.repeat(64), 'operator:ada')).toBeNull();
});
