import { renderTable } from '@gateway/testkit';
import { formatNumber, median } from '../results/statistics.js';
import { SCENARIOS } from '../scenarios.js';
import type { TelemetryReport, TelemetrySample } from './run-telemetry.js';
import { AIM, SHARES, type Share, formatPercent } from './shares.js';

type Side = 'edgeMicros' | 'allMicros';

/** Renders CPU per call by share, and its ratio to a gateway without tracing. */
export function renderTelemetry({ facts, samples }: TelemetryReport): string {
  const scenarios = SCENARIOS.filter(({ id }) => samples.some(({ scenario }) => scenario === id));
  const rows = scenarios.flatMap(({ id, title, kind }) =>
    SHARES.map((share) => [
      `${kind}, ${title}`,
      formatPercent(share),
      formatNumber(median(ofSide(samples, id, share, 'edgeMicros'))),
      formatNumber(ratio(samples, id, share, 'edgeMicros')),
      formatNumber(median(ofSide(samples, id, share, 'allMicros'))),
      formatNumber(ratio(samples, id, share, 'allMicros')),
    ]),
  );
  const worst = Math.max(...scenarios.map(({ id }) => ratio(samples, id, AIM.share, 'allMicros')));
  const outcome = worst <= AIM.ratioMax ? 'reached' : 'not reached';
  return `${[
    '# Telemetry: cost of tracing',
    'One gateway for each share of traced calls, otherwise identical, with a collector that accepts every span. CPU in microseconds per call; medians over the rounds, ratios within each round.',
    renderTable(['Calls', 'Traced', 'Edge', '× 0 %', 'All processes', '× 0 %'], rows),
    `Aim: at most ${formatNumber(AIM.ratioMax)} × at ${formatPercent(AIM.share)} over all processes: ${outcome} (${formatNumber(worst)}).`,
    '## Run',
    renderTable(['What', 'Value'], facts),
  ].join('\n\n')}\n`;
}

/** Returns the median over the rounds of a share's CPU relative to no tracing in the same round. */
export function ratio(samples: readonly TelemetrySample[], scenario: string, share: Share, side: Side): number {
  const untraced = ofSide(samples, scenario, SHARES[0], side);
  const traced = ofSide(samples, scenario, share, side);
  return median(traced.map((micros, round) => micros / (untraced[round] as number)));
}

/** Returns the values of one share, ordered by round. */
function ofSide(samples: readonly TelemetrySample[], scenario: string, share: Share, side: Side): number[] {
  return samples
    .filter((sample) => sample.scenario === scenario && sample.share === share)
    .sort((one, other) => one.round - other.round)
    .map((sample) => sample[side]);
}
