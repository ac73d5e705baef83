import { expect, test } from '@jest/globals';
import { sample } from '../../test/samples.js';
import { factorsOf } from './factors.js';
import { listOwnUnits } from './own-units.js';
import { memoryRatios, ratiosOf } from './ratios.js';
import { renderReport } from './render-report.js';
import type { Report } from './report.js';
import { summarise } from './summarise.js';

const OPEN = [
  { peer: 'gateway', streams: 5_000, spoiled: null, dropped: 0, bytesPerStream: { 'edge-proxy': 25_000, nats: 500 } },
] as const;

function report(samples: readonly ReturnType<typeof sample>[]): Report {
  const summaries = summarise(samples);
  return {
    command: 'npm run bench',
    startedAt: '2026-01-01T00:00:00.000Z',
    facts: [['Node', 'v20']],
    peers: [
      { id: 'direct', title: 'direct', version: '' },
      { id: 'portkey', title: 'Portkey', version: '1' },
      { id: 'gateway', title: 'gateway', version: '' },
    ],
    scenarios: [{ id: 'plain-64', title: '64 connections', kind: 'plain' }],
    notes: ['Portkey answers no streamed call: status 500'],
    idle: [1_000, 1_500, 9_000].map((micros, n) => ({
      round: n + 1,
      peer: 'gateway',
      cpuMicrosPerSecond: { 'edge-proxy': micros },
    })),
    summaries,
    openStreams: OPEN,
    counts: [],
    ownUnits: listOwnUnits([], OPEN),
    ratios: [...ratiosOf(summaries), ...memoryRatios(OPEN)],
    against: { commit: '0123456789ab', factors: factorsOf(samples, []) },
    brokenOff: 'round 2 of 5 failed',
    samples,
  };
}

test('renders a row for each peer, failures, ratios and notes', () => {
  const page = renderReport(
    report([
      sample('gateway', 1, { 'edge-proxy': 100, nats: 20 }, 2),
      sample('portkey', 1, { portkey: 1_000 }, 4, { failed: 3 }),
      sample('direct', 1, {}, 1, { loadMicros: 950_000 }),
    ]),
  );
  const rows = page.split('\n').filter((line) => line.startsWith('| '));
  const cells = rows.map((row) =>
    row
      .split('|')
      .map((cell) => cell.trim())
      .slice(1, -1),
  );
  const at = (title: string) => cells.find((row) => row[0] === title);
  expect(cells.map((row) => row[0]).filter((title) => ['direct', 'Portkey', 'gateway'].includes(title ?? ''))).toEqual([
    'direct',
    'Portkey',
    'gateway',
    // This row is in the table of open streams.
    'gateway',
  ]);
  expect(at('gateway')).toEqual([
    'gateway',
    '120 (120 to 120)',
    '1,000',
    '2.00 / 6.00',
    '4.00 / 12.0',
    '2.00 / 6.00',
    '',
  ]);
  expect(at('Portkey')?.at(-1)).toBe('3');
  expect(at('direct')?.[2]).toBe('1,000 †');
  expect(at('edge-proxy')).toEqual(['edge-proxy', '100', '1,500']);
  expect(cells).toContainEqual([expect.stringContaining('gateway ÷ Portkey, 64'), '0.120']);
  expect(cells).toContainEqual(['gateway', '25.5', '0']);
  expect(cells).toContainEqual(['of it edge-proxy', '25.0', '']);
  expect(cells).toContainEqual([
    expect.stringContaining('of the edge per open stream at'),
    '25',
    '–',
    '33.6',
    '31',
    '28',
    'aim',
  ]);
  expect(cells).toContainEqual(['failed of 5,000 open streams', '0', '–', '949', '0', '0', 'aim']);
  expect(page).toContain('## This build ÷ 0123456789ab');
  expect(page).toContain('**Aborted**: round 2 of 5 failed');
  expect(page).toContain('- Portkey answers no streamed call: status 500');
});

test('marks memory that was read with failed streams', () => {
  const [open] = OPEN;
  const spoiled = { ...open, dropped: 698, spoiled: '698 of 5000 open streams failed' };
  const page = renderReport({ ...report([]), openStreams: [spoiled] });
  expect(page).toMatch(/\| gateway +\| +25\.5 § \| +698 \|/);
});
