import { expect, test } from '@jest/globals';
import type { CallCounts } from '../counts/count-calls.js';
import { busBytes, countRows, keptBytes } from './count-rows.js';
import { renderCounts } from './render-counts.js';

const full: CallCounts = {
  peer: 'gateway',
  scenario: 'plain-64',
  calls: 1_000,
  seconds: 4,
  counters: {
    admissionBatches: 100,
    admissionEntries: 2_000,
    usageMessages: 250,
    usageBytes: 1_250_000,
    settlements: 10,
    settledEvents: 1_000,
    busBytesIn: 3_400_000,
  },
  tableBytes: { usage_records: 900_000, ledger_entries: 600_000, audit: 8_192 },
  wakeUps: { 'edge-proxy': 3_000, nats: 1_000 },
};
const idle: CallCounts = {
  ...full,
  scenario: null,
  calls: 0,
  counters: { admissionBatches: 0, admissionEntries: 0 },
  tableBytes: {},
  wakeUps: { 'edge-proxy': 40, nats: 80 },
};
const values = (what: string) => countRows([full, idle]).filter((row) => row.what === what)[0]?.values;

test('divides counts by calls, or by seconds if no call ran', () => {
  expect(values('messages with entries to admission')).toEqual([0.1, 0]);
  expect(values('entries (admissions and releases) in each of these')).toEqual([20, NaN]);
  expect(values('usage messages')).toEqual([0.25, NaN]);
  expect(values('settling transactions')?.[0]).toBe(0.01);
  expect(values('wake-ups')).toEqual([4, 30]);
  expect(values('of it nats')).toEqual([1, 20]);
  expect(busBytes(full)).toBe(4_650);
  expect(keptBytes(full)).toBeCloseTo(1_508, 0);
  expect(keptBytes(idle)).toBeNaN();
});

test('lists large tables one by one, the largest first', () => {
  const tables = countRows([full, idle]).filter(({ what }) => /usage_records|ledger_entries|audit/.test(what));
  expect(tables.map(({ what }) => what)).toEqual(['of it usage_records', 'of it ledger_entries']);
});

test('shows a dash for unread counters and one table per gateway', () => {
  const page = renderCounts({
    counts: [full, idle, { ...full, peer: 'against', counters: {} }],
    peers: [
      { id: 'gateway', title: 'this gateway', version: '' },
      { id: 'against', title: 'the other', version: '' },
    ],
  });
  const cells = page.flatMap((part) => part.split('\n').map((line) => line.split('|').map((cell) => cell.trim())));
  expect(page.filter((part) => part.startsWith('## '))).toEqual([
    '## Counts per call: this gateway',
    '## Counts per call: the other',
  ]);
  expect(cells).toContainEqual(['', '', '64 connections', 'without calls, a second', '']);
  expect(cells).toContainEqual(['', 'script runs in Redis', '–', '–', '']);
  expect(cells).toContainEqual(['', 'bytes into the bus', '3,400', '–', '']);
});
