import type { Sample } from '../src/edge/measure.js';

/** Returns 1,000 calls in one second with the given CPU per call. `more` replaces parts. */
export function sample(
  peer: string,
  round: number,
  cpuPerCall: Record<string, number>,
  p50: number,
  more: Partial<Sample> = {},
): Sample {
  return {
    round,
    scenario: 'plain-64',
    peer,
    result: {
      calls: 1_000,
      failures: {},
      elapsedMs: 1_000,
      firstByteMs: { p50, p99: p50 * 3 },
      completeMs: { p50: p50 * 2, p99: p50 * 6 },
    },
    failed: 0,
    cpuMicros: Object.fromEntries(Object.entries(cpuPerCall).map(([name, micros]) => [name, micros * 1_000])),
    loadMicros: 500_000,
    ...more,
  };
}
