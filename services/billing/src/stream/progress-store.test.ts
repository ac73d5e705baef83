import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { inTransaction, onPool } from '@gateway/postgres';
import { silentLog, type TestDatabase } from '@gateway/testkit';
import { seededRandom } from '../../test/events.js';
import { type LedgerWorld, startLedgerWorld } from '../../test/ledger-world.js';
import type { StreamState } from './progress-rules.js';
import { insertApplied, createProgressStore, type ProgressStore } from './progress-store.js';
import { trackProgress, trimStream } from './progress.js';

let world: LedgerWorld;
let ledger: TestDatabase;
let store: ProgressStore;

beforeAll(async () => {
  world = await startLedgerWorld();
}, 60_000);
beforeEach(async () => {
  ledger = await world.emptied();
  store = createProgressStore(ledger.pool);
});
afterAll(() => world.stop());

const T0 = 1_700_000_000_000;
/** Messages are stored one second apart. */
const at = (sequence: number, since = T0): number => since + sequence * 1_000;

function apply(sequences: readonly number[], since = T0): Promise<void> {
  return inTransaction(ledger.pool, (tx) =>
    insertApplied(
      tx,
      sequences.map((sequence) => ({ sequence, storedAtMs: at(sequence, since) })),
    ),
  );
}

function streamOf(firstSequence: number, lastSequence: number, since = T0): StreamState {
  const empty = lastSequence < firstSequence;
  return {
    firstSequence,
    lastSequence,
    firstAtMs: empty ? null : at(firstSequence, since),
    lastAtMs: empty ? null : at(lastSequence, since),
    filled: 0,
  };
}

/** Advances like the only replica that tracks the stream. */
const advance = async (stream: StreamState) => store.advance(stream, await store.floor());

const sequence = async (): Promise<number> => (await store.settledPosition()).sequence;
const batchesLeft = async (): Promise<number> =>
  (await onPool(ledger.pool).query('SELECT FROM applied_batches')).length;

test('nothing is settled at first', async () => {
  expect(await store.settledPosition()).toEqual({ sequence: 0, storedAtMs: 0 });
});

test('the position is the end of the contiguous settled run', async () => {
  await apply([1, 2, 4, 5]);
  expect(await store.settledPosition()).toEqual({ sequence: 2, storedAtMs: at(2) });
  expect(await advance(streamOf(1, 6))).toEqual({
    position: { sequence: 2, storedAtMs: at(2) },
    restarted: false,
  });
  expect(await batchesLeft()).toBe(1);
  await apply([3]);
  expect(await store.settledPosition()).toEqual({ sequence: 5, storedAtMs: at(5) });
  await advance(streamOf(1, 6));
  expect(await batchesLeft()).toBe(0);
});

test('a message that is delivered again changes nothing', async () => {
  await apply([1, 2, 3]);
  await advance(streamOf(1, 3));
  await apply([2]);
  expect(await advance(streamOf(1, 3))).toMatchObject({ position: { sequence: 3 }, restarted: false });
  expect(await batchesLeft()).toBe(0);
});

test('a ledger that has settled nothing begins where the stream begins', async () => {
  await apply([5]);
  await advance(streamOf(4, 6));
  expect(await sequence()).toBe(3);
  await apply([4]);
  expect(await sequence()).toBe(5);
});

test('messages that were deleted and not settled are not skipped', async () => {
  await apply([1, 2, 5]);
  await advance(streamOf(1, 6));
  await advance(streamOf(5, 6));
  expect(await sequence()).toBe(2);
});

test('a replica that hung does not reset the floor from an old stream state', async () => {
  await apply([1, 2]);
  const [floor, seen] = [await store.floor(), streamOf(1, 2)];
  await apply([3, 4]);
  await advance(streamOf(1, 4));
  expect(await store.advance(seen, floor)).toMatchObject({ position: { sequence: 4 }, restarted: false });
  expect(await sequence()).toBe(4);
});

test('an empty stream moves nothing', async () => {
  await apply([1, 2]);
  await advance(streamOf(3, 2));
  expect(await sequence()).toBe(2);
});

/** The time at which a second stream replaces the first one. */
const NEW = T0 + 1_000_000;

describe('a stream that was created again', () => {
  beforeEach(async () => {
    await apply([1, 2, 3, 5]);
    await advance(streamOf(1, 5));
  });

  test('is detected by its end', async () => {
    expect(await advance(streamOf(1, 2, NEW))).toMatchObject({ position: { sequence: 0 }, restarted: true });
    await apply([1, 2], NEW);
    expect(await advance(streamOf(1, 2, NEW))).toMatchObject({ position: { sequence: 2 }, restarted: false });
  });

  test('is detected by a message below the floor, even when it is already longer', async () => {
    await apply([1, 2, 3, 4, 5, 6, 8], NEW);
    expect(await advance(streamOf(1, 8, NEW))).toMatchObject({ position: { sequence: 6 }, restarted: true });
    await apply([7], NEW);
    expect(await sequence()).toBe(8);
  });
});

test('the position never passes a missing message with many workers in any order', async () => {
  const random = seededRandom(7);
  const order = Array.from({ length: 200 }, (_, index) => ({ index: index + 1, key: random() })).sort(
    (a, b) => a.key - b.key,
  );
  const applied = new Set<number>();
  for (let from = 0; from < order.length; from += 10) {
    const part = order.slice(from, from + 10).map(({ index }) => index);
    await apply(part);
    for (const one of part) applied.add(one);
    let expected = 0;
    while (applied.has(expected + 1)) expected += 1;
    if (from % 40 === 0) await advance(streamOf(1, 200));
    expect(await sequence()).toBe(expected);
  }
});

describe('trimming', () => {
  const trimmed: number[] = [];
  const stream = {
    state: () => Promise.resolve(streamOf(1, 5)),
    trim: async (upToSequence: number) => void trimmed.push(upToSequence),
  };

  beforeEach(() => void trimmed.splice(0));

  test('keeps messages that are younger than the reserve', async () => {
    await apply([1, 2, 3]);
    await trackProgress(store, stream, silentLog);
    expect(await trimStream(store, stream, 60_000)).toBe(0);
    expect(trimmed).toEqual([]);
  });

  test('deletes only messages that were settled before the reserve began', async () => {
    await apply([1, 2]);
    await trackProgress(store, stream, silentLog);
    await trimStream(store, stream, 60_000);
    await ledger.admin.query(`UPDATE billing.stream_marks SET marked_at = marked_at - interval '2 minutes'`);
    await apply([3]);
    await trackProgress(store, stream, silentLog);
    expect(await trimStream(store, stream, 60_000)).toBe(2);
    expect(trimmed).toEqual([2]);
  });

  // Covers r15
  test('keeps no reserve in a stream that is more than half full', async () => {
    await apply([1, 2]);
    await trackProgress(store, stream, silentLog);
    const filling = { ...stream, state: () => Promise.resolve({ ...streamOf(1, 5), filled: 0.51 }) };
    expect(await trimStream(store, filling, 60_000)).toBe(2);
  });

  // Covers r15
  test('never deletes unsettled messages, even if they were marked', async () => {
    await apply([1]);
    await trackProgress(store, stream, silentLog);
    await store.mark(5);
    expect(await trimStream(store, stream, 0)).toBe(1);
  });

  test.each([
    ['it is shorter than the settled run', 4],
    ['it is longer than the settled run', 7],
  ])('deletes nothing of a new stream that is not counted yet: %s', async (_name, lastSequence) => {
    await apply([1, 2, 3, 4, 5]);
    await trackProgress(store, stream, silentLog);
    const filled = 0.51;
    const anew = { ...stream, state: () => Promise.resolve({ ...streamOf(1, lastSequence, NEW), filled }) };
    expect(await trimStream(store, anew, 0)).toBe(0);
    await apply([6, 7], NEW);
    expect(await trimStream(store, anew, 0)).toBe(0);
    expect(trimmed).toEqual([]);
    await apply([1, 2], NEW);
    await trackProgress(store, anew, silentLog);
    expect(await trimStream(store, anew, 0)).toBe(2);
  });

  test("deletes nothing of a shorter stream whose server's clock is behind", async () => {
    await apply([1, 2, 3, 4, 5]);
    await trackProgress(store, stream, silentLog);
    const anew = { ...stream, state: () => Promise.resolve({ ...streamOf(1, 4), filled: 0.51 }) };
    expect(await trimStream(store, anew, 0)).toBe(0);
  });
});
