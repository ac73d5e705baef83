import { expect, test } from '@jest/globals';
import { testEpoch } from '@gateway/testkit/random';
import { toKeptPosition, type LedgerSnapshotState, compareWithKept } from './lost-commits-rules.js';

const LEDGER_STATE_SQL: LedgerSnapshotState = {
  database: 'one',
  timeline: 2,
  logBytes: 5_000,
  ledgerEpoch: testEpoch(1),
  consumers: 'restore-1',
  blocks: 40,
  settled: { sequence: 70, storedAtMs: 1_000 },
  missing: [],
};
const KEPT = toKeptPosition(LEDGER_STATE_SQL);

test.each([
  ['nothing was kept yet', null, 'complete'],
  ['the kept position is the current one', KEPT, 'complete'],
  ['the ledger has grown', { ...KEPT, logBytes: 4_000, blocks: 30, sequence: 60 }, 'complete'],
  ['the log is shorter', { ...KEPT, logBytes: 5_001 }, 'suspect'],
  ['a chain is shorter', { ...KEPT, blocks: 41 }, 'suspect'],
  ['it was promoted, and its log is already longer', { ...KEPT, timeline: 1, logBytes: 4_000 }, 'suspect'],
  ['another database was promoted', { ...KEPT, timeline: 3 }, 'superseded'],
  ['it was restored on a server with a new log', { ...KEPT, consumers: 'restore-0', timeline: 9 }, 'complete'],
  ['it was restored and has not settled everything again', { ...KEPT, consumers: 'restore-0', sequence: 71 }, 'behind'],
] as const)('compareWithKept(): %s', (_name, kept, completeness) => {
  expect(compareWithKept(LEDGER_STATE_SQL, kept)).toBe(completeness);
});

test.each([
  ['a restored ledger with a later epoch', testEpoch(2), testEpoch(1), 'behind'],
  ['a ledger that a restored one has replaced', testEpoch(1), testEpoch(2), 'superseded'],
] as const)('compareWithKept() with other consumers: %s', (_name, ledgerEpoch, ledgerEpochKept, completeness) => {
  const kept = { ...KEPT, consumers: 'restore-0', sequence: 71, ledgerEpoch: ledgerEpochKept };
  expect(compareWithKept({ ...LEDGER_STATE_SQL, ledgerEpoch }, kept)).toBe(completeness);
});
