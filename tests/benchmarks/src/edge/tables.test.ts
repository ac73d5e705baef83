import { expect, test } from '@jest/globals';
import { sample } from '../../test/samples.js';
import { renderReport } from '../report.js';
import type { CallCounts } from './count-calls.js';
import { type EdgeFigures, renderSections } from './tables.js';

const OPEN = {
  peer: 'gateway',
  streams: 5_000,
  spoiled: null,
  dropped: 0,
  bytesPerStream: { 'edge-proxy': 25_000, nats: 500 },
};
const COUNTS: CallCounts = {
  peer: 'gateway',
  scenario: 'plain-64',
  calls: 1_000,
  seconds: 4,
  counters: { busBytesIn: 3_400_000 },
  tableBytes: {},
  wakeUps: {},
};
const FIGURES: EdgeFigures = {
  peers: [
    { id: 'direct', title: 'direct', keyed: false },
    { id: 'portkey', title: 'Portkey', keyed: false },
    { id: 'gateway', title: 'gateway', keyed: true },
  ],
  scenarios: [{ id: 'plain-64', title: '64 connections', kind: 'plain' }],
  comparisons: [{ title: 'gateway ÷ Portkey', ours: 'gateway', theirs: 'portkey' }],
  samples: [
    sample('gateway', 1, { 'edge-proxy': 100, nats: 20 }, 2),
    sample('portkey', 1, { portkey: 1_000 }, 4, { failed: 3 }),
    sample('direct', 1, {}, 1, { loadMicros: 950_000 }),
  ],
  idle: [1_000, 1_500, 9_000].map((micros, n) => ({
    round: n + 1,
    peer: 'gateway',
    cpuMicrosPerSecond: { 'edge-proxy': micros },
  })),
  openStreams: [OPEN],
  counts: [COUNTS, { ...COUNTS, scenario: null, counters: {} }],
};

function cellsOf(figures: EdgeFigures): string[][] {
  const report = { title: 'Title', facts: [], brokenOff: 'round 2 of 5 failed', notes: ['a note'], samples: {} };
  const page = renderReport({ ...report, sections: renderSections(figures) });
  expect(page).toContain('**Aborted**: round 2 of 5 failed');
  expect(page).toContain('## Not measured, or unreliable\n\n- a note');
  const rows = page.split('\n').filter((line) => line.startsWith('| '));
  const cut = (row: string) => row.split('|').map((cell) => cell.trim());
  return rows.map((row) => cut(row).slice(1, -1));
}

test('renders a row for each peer with its figures, marks and failures', () => {
  const cells = cellsOf(FIGURES);
  const at = (title: string) => cells.find((row) => row[0] === title);
  expect(cells.map(([title]) => title).filter((title) => /^(?:direct|Portkey|gateway)$/.test(title ?? ''))).toEqual([
    'direct',
    'Portkey',
    'gateway',
    // This row is in the table of open streams.
    'gateway',
  ]);
  const times = ['2.00 / 6.00', '4.00 / 12.0', '1.00 / 3.00', '2.00 / 6.00'];
  expect(at('gateway')).toEqual(['gateway', '120 (120 to 120)', '100', '1,000', ...times, '']);
  expect(at('Portkey')?.at(-1)).toBe('3');
  expect(at('direct')?.[3]).toBe('1,000 †');
  expect(at('edge-proxy')).toEqual(['edge-proxy', '100', '1,500']);
  const factor = ['120', '1,000', '0.120 ‡', '0.120 to 0.120', '1'];
  expect(at('CPU of all processes per plain call, 64 connections, µs')).toEqual([expect.anything(), ...factor]);
});

test('renders open streams by process, and marks an unreliable reading', () => {
  const cells = cellsOf(FIGURES);
  expect(cells).toContainEqual(['gateway', '25.5', '0']);
  expect(cells).toContainEqual(['of it edge-proxy', '25.0', '']);
  const spoiled = { ...OPEN, dropped: 698, spoiled: '698 of 5000 open streams failed' };
  expect(cellsOf({ ...FIGURES, openStreams: [spoiled] })).toContainEqual(['gateway', '25.5 §', '698']);
});

test('renders counts per call, with a dash for unread counters', () => {
  const cells = cellsOf(FIGURES);
  expect(cells).toContainEqual(['', '64 connections', 'without calls, a second']);
  expect(cells).toContainEqual(['script runs in Redis', '–', '–']);
  expect(cells).toContainEqual(['bytes into the bus', '3,400', '–']);
});
