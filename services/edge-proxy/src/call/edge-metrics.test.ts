import { expect, test } from '@jest/globals';
import { ATTEMPT_OUTCOMES } from '@gateway/contracts/messages';
import { counter } from '@gateway/service-kit';
import { makeEdgeMetrics } from './edge-metrics.js';

const SOURCES = 1_000;
const SOURCES_NAMED = 64;

// Test files may share the counters of the process, so this test compares with the values before.
test('attempts are counted by outcome and a limited number of source names', () => {
  const metrics = makeEdgeMetrics();
  const labels = { source: { max: SOURCES_NAMED }, outcome: ATTEMPT_OUTCOMES } as const;
  // The same name returns the same counter.
  const tries = counter('gateway_edge_attempts_total', 'Attempts by outcome', labels);
  const sum = (outcome: string, source?: string) =>
    [...tries.cells()]
      .filter(({ labels: of }) => of['outcome'] === outcome && (source ?? of['source']) === of['source'])
      .reduce((total, { cell }) => total + cell.value, 0);
  const before = { completed: sum('completed'), other: sum('completed', 'other'), unreachable: sum('unreachable') };
  for (let number = 0; number < SOURCES; number += 1) metrics.attemptEnded(`src-${number}`, 'completed');
  metrics.attemptEnded('src-3', 'unreachable');
  expect(sum('completed') - before.completed).toBe(SOURCES);
  expect(sum('unreachable') - before.unreachable).toBe(1);
  expect(new Set([...tries.cells()].map(({ labels: of }) => of['source'])).size).toBe(SOURCES_NAMED + 1);
  expect(sum('completed', 'other') - before.other).toBeGreaterThanOrEqual(SOURCES - SOURCES_NAMED);
});
