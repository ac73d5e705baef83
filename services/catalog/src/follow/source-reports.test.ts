import { expect, test } from '@jest/globals';
import { makeSourceReports, REPORT_COUNTS_MS, REPORTS_MAX } from './source-reports.js';

const facts = (source: string, failures = 0) => ({
  source,
  failures,
  coolUntil: 0,
  openUntil: 0,
  lastOutcome: null,
  lastStatus: null,
  lastAt: null,
});
const NOW = 1_000_000;

test('the last word of each edge on each source counts, also over several messages', () => {
  const reports = makeSourceReports();
  reports.heard({ edge: 'e1', sources: [facts('a', 1), facts('b', 1)] }, NOW);
  reports.heard({ edge: 'e2', sources: [facts('a', 9)] }, NOW);
  reports.heard({ edge: 'e1', sources: [facts('a', 2)] }, NOW + 1);
  expect(reports.all(NOW + 1).map(({ edge, facts: { source, failures } }) => [edge, source, failures])).toEqual([
    ['e1', 'a', 2],
    ['e1', 'b', 1],
    ['e2', 'a', 9],
  ]);
});

test('what an edge said half a minute ago is forgotten, and makes room', () => {
  const reports = makeSourceReports();
  const many = Array.from({ length: REPORTS_MAX }, (_, n) => facts(`s${n}`));
  reports.heard({ edge: 'e1', sources: many }, NOW);
  reports.heard({ edge: 'e2', sources: [facts('new')] }, NOW + 1);
  expect(reports.all(NOW + 1)).toHaveLength(REPORTS_MAX);
  expect(reports.all(NOW + REPORT_COUNTS_MS - 1)).toHaveLength(REPORTS_MAX);
  expect(reports.all(NOW + REPORT_COUNTS_MS)).toEqual([]);
  reports.heard({ edge: 'e2', sources: [facts('new')] }, NOW + REPORT_COUNTS_MS);
  expect(reports.all(NOW + REPORT_COUNTS_MS).map(({ edge }) => edge)).toEqual(['e2']);
});
