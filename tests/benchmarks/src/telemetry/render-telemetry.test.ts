import { expect, test } from '@jest/globals';
import { FULL_LOAD } from '../scenarios.js';
import { ratio, renderTelemetry } from './render-telemetry.js';
import type { TelemetrySample } from './run-telemetry.js';
import type { Share } from './shares.js';

const sample = (round: number, share: Share, allMicros: number): TelemetrySample => ({
  round,
  share,
  allMicros,
  edgeMicros: allMicros / 2,
  scenario: FULL_LOAD,
  calls: 100,
});
/** The machine was twice as busy in the second round, which is not a cost of tracing. */
const SAMPLES = [
  ...[sample(1, 1, 300), sample(1, 0, 200), sample(1, 0.01, 210)],
  ...[sample(2, 0, 400), sample(2, 0.01, 420), sample(2, 1, 600)],
];

test('compares a share with no tracing in the same round', () => {
  expect(ratio(SAMPLES, FULL_LOAD, 1, 'allMicros')).toBeCloseTo(1.5);
  expect(ratio(SAMPLES, FULL_LOAD, 0.01, 'edgeMicros')).toBeCloseTo(1.05);
});

test('renders whether the aim is reached', () => {
  const page = (samples: readonly TelemetrySample[]) => renderTelemetry({ facts: [['Rounds', '2']], samples });
  expect(page(SAMPLES)).toContain('over all processes: reached (1.05)');
  expect(page([...SAMPLES.slice(0, 2), sample(1, 0.01, 250)])).toContain('over all processes: not reached (1.25)');
});
