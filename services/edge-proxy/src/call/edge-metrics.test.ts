import { expect, test } from '@jest/globals';
import { ATTEMPT_OUTCOMES } from '@gateway/contracts/messages';
import { counter } from '@gateway/service-kit';
import { makeEdgeMetrics } from './edge-metrics.js';

const SOURCES = 1_000;
const SOURCES_NAMED = 64;

test('attempts are counted by outcome and a limited number of source names', () => {
  const metrics = makeEdgeMetrics();
  for (let number = 0; number < SOURCES; number += 1) metrics.attemptEnded(`src-${number}`, 'completed');
  metrics.attemptEnded('src-3', 'unreachable');
  // A second call with the same name returns the same counter.
  const labels = { source: { max: SOURCES_NAMED }, outcome: ATTEMPT_OUTCOMES } as const;
  const tries = counter('gateway_edge_attempts_total', 'Attempts by outcome', labels);
  const points = [...tries.cells()].map(({ labels: { ...named }, cell }) => ({ ...named, value: cell.value }));
  expect(points).toHaveLength(SOURCES_NAMED + 2);
  expect(points).toContainEqual({ source: 'src-3', outcome: 'completed', value: 1 });
  expect(points).toContainEqual({ source: 'src-3', outcome: 'unreachable', value: 1 });
  expect(points).toContainEqual({ source: 'other', outcome: 'completed', value: SOURCES - SOURCES_NAMED });
});
