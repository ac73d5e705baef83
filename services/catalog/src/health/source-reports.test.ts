import { expect, test } from '@jest/globals';
import { createSourceReports, REPORT_COUNTS_MS, REPORTS_MAX } from './source-reports.js';

const health = (source: string, failures = 0) => ({
  source,
  failures,
  coolUntil: 0,
  openUntil: 0,
  lastOutcome: null,
  lastStatus: null,
  lastAt: null,
  probing: false,
  answeredElsewhere: false,
  attempts: 0,
  errors: 0,
  firstByteMs: null,
  overQuota: 0,
  quota: null,
});
const NOW = 1_000_000;

test('the last report of each edge about each source counts, over several messages', () => {
  const reports = createSourceReports();
  reports.receive({ edge: 'e1', sources: [health('a', 1), health('b', 1)] }, NOW);
  reports.receive({ edge: 'e2', sources: [health('a', 9)] }, NOW);
  reports.receive({ edge: 'e1', sources: [health('a', 2)] }, NOW + 1);
  expect(reports.all(NOW + 1).map(({ edge, health: { source, failures } }) => [edge, source, failures])).toEqual([
    ['e1', 'a', 2],
    ['e1', 'b', 1],
    ['e2', 'a', 9],
  ]);
});

test('reports older than half a minute are dropped and make room', () => {
  const reports = createSourceReports();
  const many = Array.from({ length: REPORTS_MAX }, (_, n) => health(`s${n}`));
  reports.receive({ edge: 'e1', sources: many }, NOW);
  reports.receive({ edge: 'e2', sources: [health('new')] }, NOW + 1);
  expect(reports.all(NOW + 1)).toHaveLength(REPORTS_MAX);
  expect(reports.all(NOW + REPORT_COUNTS_MS - 1)).toHaveLength(REPORTS_MAX);
  expect(reports.all(NOW + REPORT_COUNTS_MS)).toEqual([]);
  reports.receive({ edge: 'e2', sources: [health('new')] }, NOW + REPORT_COUNTS_MS);
  expect(reports.all(NOW + REPORT_COUNTS_MS).map(({ edge }) => edge)).toEqual(['e2']);
});
