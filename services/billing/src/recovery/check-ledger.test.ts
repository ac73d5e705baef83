import { beforeEach, expect, test } from '@jest/globals';
import { testEpoch } from '@gateway/testkit/random';
import type { StreamMessage } from '../stream/stream.js';
import { checkLedger, type LostCommitsDeps } from './check-ledger.js';
import { LedgerGuard } from './ledger-guard.js';
import { toKeptPosition, type KeptPosition, type LedgerSnapshotState } from './lost-commits-rules.js';

const T0 = 1_700_000_000_000;
const LEDGER_STATE_SQL: LedgerSnapshotState = {
  database: 'one',
  timeline: 1,
  logBytes: 5_000,
  ledgerEpoch: testEpoch(1),
  consumers: 'restore-1',
  blocks: 40,
  settled: { sequence: 4, storedAtMs: T0 + 4 },
  missing: [],
};

let ledger: LedgerSnapshotState;
let kept: KeptPosition | null;
let acknowledged: number[];
let messages: StreamMessage[];
let settled: number[];
let databaseWorks: boolean;
let first: number;

/** Ten messages that alternate between two subjects. */
beforeEach(() => {
  [ledger, kept, acknowledged, settled, databaseWorks, first] = [LEDGER_STATE_SQL, null, [0, 0], [], true, 1];
  messages = Array.from({ length: 10 }, (_, index) => ({
    sequence: index + 1,
    subject: index % 2,
    data: new Uint8Array(0),
    storedAtMs: T0 + index + 1,
  }));
});

const stored = () => messages.filter(({ sequence }) => sequence >= first);
const deps: LostCommitsDeps = {
  store: {
    readState: async () => ledger,
    beginEpochAfter: async (former) => {
      if (ledger.ledgerEpoch !== former) return null;
      ledger = { ...ledger, ledgerEpoch: testEpoch(2), settled: { sequence: 10, storedAtMs: T0 }, missing: [] };
      return testEpoch(2);
    },
  },
  stream: {
    state: async () => ({
      firstSequence: first,
      lastSequence: messages.length,
      firstAtMs: T0,
      lastAtMs: T0 + 10,
      filled: 0,
    }),
    acknowledged: async () => acknowledged,
    message: async (sequence, subject) =>
      stored().find((one) =>
        subject === undefined ? one.sequence === sequence : one.sequence >= sequence && one.subject === subject,
      ) ?? null,
  },
  kept: { read: async () => kept, write: async (position) => void (kept = position) },
  settle: async (_subject, some) => {
    settled.push(...some.map(({ sequence }) => sequence));
    return databaseWorks;
  },
  log: { warn: () => undefined },
};
const check = () => checkLedger(deps);

test('unacknowledged messages are not lost', async () => {
  ledger = {
    ...LEDGER_STATE_SQL,
    missing: [
      { from: 5, to: 5 },
      { from: 7, to: 10 },
    ],
  };
  // Everything of the second subject; messages 5, 7 and 9 belong to the first subject.
  acknowledged = [4, 10];
  ledger = {
    ...LEDGER_STATE_SQL,
    missing: [
      { from: 5, to: 5 },
      { from: 7, to: 7 },
      { from: 9, to: 9 },
    ],
  };
  expect(await check()).toMatchObject({ kind: 'complete' });
  expect(settled).toEqual([]);
});

test('one lost acknowledged message makes everything missing be settled again', async () => {
  acknowledged = [5, 10];
  ledger = {
    ...LEDGER_STATE_SQL,
    missing: [
      { from: 5, to: 5 },
      { from: 7, to: 9 },
    ],
  };
  expect(await check()).toMatchObject({ kind: 'recovered', lost: 2 });
  expect(settled.sort()).toEqual([5, 7, 8, 9]);
});

test('the kept position detects a loss without the consumer', async () => {
  kept = { ...toKeptPosition(LEDGER_STATE_SQL), sequence: 6, storedAtMs: T0 + 6 };
  ledger = { ...LEDGER_STATE_SQL, missing: [{ from: 5, to: 6 }] };
  expect(await check()).toMatchObject({ kind: 'recovered', lost: 2, settled: 2 });
  expect(await check()).toMatchObject({ kind: 'complete' });
});

// Covers r17
test('a promotion that another replica has checked meanwhile begins no second epoch', async () => {
  kept = toKeptPosition(LEDGER_STATE_SQL);
  ledger = { ...LEDGER_STATE_SQL, database: 'two', timeline: 2, ledgerEpoch: testEpoch(2) };
  const read = deps.kept.read;
  let reads = 0;
  const meanwhile = async () => {
    const before = await read();
    reads += 1;
    if (reads === 1) kept = toKeptPosition(ledger);
    return before;
  };
  expect(await checkLedger({ ...deps, kept: { ...deps.kept, read: meanwhile } })).toMatchObject({ kind: 'retry' });
  expect(await check()).toMatchObject({ kind: 'complete' });
});

// Covers r17
test('a new epoch is later than the last kept one, even if the ledger has lost it', async () => {
  kept = { ...toKeptPosition(LEDGER_STATE_SQL), ledgerEpoch: testEpoch(2), blocks: 41 };
  const seen: string[] = [];
  const store = {
    ...deps.store,
    beginEpochAfter: async (former: string, last: string) => (seen.push(former, last), testEpoch(3)),
  };
  expect(await checkLedger({ ...deps, store })).toMatchObject({ kind: 'recovered' });
  expect([...seen, kept?.ledgerEpoch]).toEqual([testEpoch(1), testEpoch(2), testEpoch(3)]);
});

test('the kept position of a deleted stream is ignored', async () => {
  kept = { ...toKeptPosition(LEDGER_STATE_SQL), sequence: 6, storedAtMs: T0 - 60_000 };
  ledger = { ...LEDGER_STATE_SQL, missing: [{ from: 5, to: 6 }] };
  expect(await check()).toMatchObject({ kind: 'complete' });
  kept = { ...toKeptPosition(LEDGER_STATE_SQL), sequence: 5_000, storedAtMs: T0 };
  expect(await check()).toMatchObject({ kind: 'complete' });
});

test('missing messages that have left the stream are a gap and begin no epoch', async () => {
  kept = { ...toKeptPosition(LEDGER_STATE_SQL), sequence: 9, storedAtMs: T0 + 9 };
  [ledger, first] = [{ ...LEDGER_STATE_SQL, missing: [{ from: 5, to: 9 }] }, 8];
  expect(await check()).toMatchObject({ kind: 'gap', gone: [{ from: 5, to: 7 }] });
  expect(ledger.ledgerEpoch).toBe(testEpoch(1));
});

test('missing acknowledged messages below the stream are a gap', async () => {
  acknowledged = [10, 10];
  [ledger, first] = [{ ...LEDGER_STATE_SQL, missing: [{ from: 5, to: 6 }] }, 7];
  expect(await check()).toMatchObject({ kind: 'gap', gone: [{ from: 5, to: 6 }] });
});

// Covers r15
test('a purge of unsettled usage is detected without acknowledgements', async () => {
  // Like the real store: returns the missing messages up to the given position.
  const asked: number[] = [];
  const store = {
    ...deps.store,
    readState: async (upTo: number) => (
      asked.push(upTo),
      { ...LEDGER_STATE_SQL, missing: upTo > 4 ? [{ from: 5, to: upTo }] : [] }
    ),
  };
  first = 9;
  const guard = new LedgerGuard({ ...deps, store, log: { ...deps.log, error: () => undefined } }, testEpoch(1));
  await guard.check();
  expect([asked, guard.stopped, guard.gone]).toEqual([[8], 'gap', 4]);
  // The stream is trimmed up to the settled position.
  first = 5;
  await guard.check();
  expect([guard.stopped, guard.gone]).toEqual([null, 0]);
});

test('a ledger that has settled nothing ignores messages deleted before', async () => {
  acknowledged = [6, 6];
  ledger = { ...LEDGER_STATE_SQL, settled: { sequence: 0, storedAtMs: 0 }, missing: [{ from: 1, to: 6 }] };
  first = 7;
  expect(await check()).toMatchObject({ kind: 'complete' });
});

test('no epoch begins while the database cannot settle the lost messages', async () => {
  kept = { ...toKeptPosition(LEDGER_STATE_SQL), sequence: 6, storedAtMs: T0 + 6 };
  [ledger, databaseWorks] = [{ ...LEDGER_STATE_SQL, missing: [{ from: 5, to: 6 }] }, false];
  expect(await check()).toMatchObject({ kind: 'retry' });
  expect(ledger.ledgerEpoch).toBe(testEpoch(1));
});

test('the guard allows only a compared and whole database', async () => {
  const errors: string[] = [];
  const log = { ...deps.log, error: (_facts: object, text: string) => void errors.push(text) };
  const guard = new LedgerGuard({ ...deps, log }, testEpoch(1));
  expect([guard.allows('one'), guard.stopped]).toEqual([false, 'unchecked']);
  await guard.check();
  expect([guard.allows('one'), guard.allows('two'), guard.stopped]).toEqual([true, false, null]);

  ledger = { ...ledger, database: 'two', timeline: 2 };
  await guard.check();
  expect([guard.allows('one'), guard.allows('two'), guard.stopped]).toEqual([false, false, 'lost']);
  await guard.check();
  expect([guard.allows('two'), guard.ledgerEpoch]).toEqual([true, testEpoch(2)]);

  // The former primary, after an operator has connected this process to it again.
  ledger = { ...ledger, database: 'one', timeline: 1 };
  await guard.check();
  await guard.check();
  expect([guard.allows('one'), guard.stopped, errors.length]).toEqual([false, 'superseded', 1]);
});

test('the guard allows settlements in a restored ledger first and loads later', async () => {
  kept = { ...toKeptPosition(LEDGER_STATE_SQL), consumers: 'restore-0', sequence: 6, storedAtMs: T0 + 6 };
  ledger = { ...LEDGER_STATE_SQL, database: 'restored', ledgerEpoch: testEpoch(2) };
  const guard = new LedgerGuard({ ...deps, log: { ...deps.log, error: () => undefined } }, testEpoch(1));
  const says = () => [guard.isKnown(), guard.isLedger('restored'), guard.allows('restored'), guard.ledgerEpoch];
  expect(says()).toEqual([false, false, false, testEpoch(1)]);
  await guard.check();
  expect(guard.stopped).toBe('behind');
  expect(says()).toEqual([true, true, false, testEpoch(2)]);
  expect(guard.isLedger('one')).toBe(false);
  ledger = { ...ledger, settled: { sequence: 6, storedAtMs: T0 + 6 } };
  await guard.check();
  expect(guard.stopped).toBeNull();
  expect(says()).toEqual([true, true, true, testEpoch(2)]);
});
