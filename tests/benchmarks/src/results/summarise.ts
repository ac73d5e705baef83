import type { Spread } from '../load/load-job.js';
import type { PeerId } from '../peers/peer.js';
import { type Sample, median } from './statistics.js';

/** Medians over the rounds of one peer in one scenario. */
export interface Summary {
  readonly scenario: string;
  readonly peer: PeerId;
  /** Sum over all rounds. */
  readonly calls: number;
  readonly failed: number;
  readonly callsPerSecond: number;
  /** CPU microseconds per call of all processes. Null for the direct call. */
  readonly cpuPerCall: { readonly median: number; readonly min: number; readonly max: number } | null;
  /** CPU microseconds per call, by process. */
  readonly cpuByProcess: Readonly<Record<string, number>>;
  readonly firstByteMs: Spread;
  readonly completeMs: Spread;
  /** Difference to the direct call of the same round. */
  readonly addedFirstByteMs: Spread;
  readonly addedCompleteMs: Spread;
  /** Share of one core that load and provider used. Near 1 they were the bottleneck. */
  readonly loadShare: number;
}

/** Returns a summary per scenario and peer with answered calls, in the samples' order. */
export function summarise(samples: readonly Sample[]): Summary[] {
  const groups = new Map<string, Sample[]>();
  for (const sample of samples) {
    const key = `${sample.scenario} ${sample.peer}`;
    groups.set(key, [...(groups.get(key) ?? []), sample]);
  }
  return [...groups.values()].flatMap((group) => {
    const answered = group.filter((sample) => sample.result.calls > 0);
    const first = answered[0];
    return first === undefined ? [] : [summariseGroup(first, group, answered, samples)];
  });
}

function summariseGroup(
  { scenario, peer }: Sample,
  group: readonly Sample[],
  answered: readonly Sample[],
  all: readonly Sample[],
): Summary {
  const medianOf = (value: (sample: Sample) => number): number => median(answered.map(value));
  const directOf = ({ round }: Sample): Sample | undefined =>
    all.find((sample) => sample.peer === 'direct' && sample.scenario === scenario && sample.round === round);
  const spread = (time: 'firstByteMs' | 'completeMs', less: (sample: Sample) => Spread | undefined): Spread => {
    const at = (part: keyof Spread) => medianOf((sample) => sample.result[time][part] - (less(sample)?.[part] ?? 0));
    return { p50: at('p50'), p99: at('p99') };
  };
  const total = (sample: Sample): number => Object.values(sample.cpuMicros).reduce((sum, micros) => sum + micros, 0);
  const perCall = answered.map((sample) => total(sample) / sample.result.calls);
  const processes = Object.keys(answered[0]?.cpuMicros ?? {});
  return {
    scenario,
    peer,
    calls: group.reduce((sum, sample) => sum + sample.result.calls, 0),
    failed: group.reduce((sum, sample) => sum + sample.failed, 0),
    callsPerSecond: medianOf(({ result }) => result.calls / (result.elapsedMs / 1000)),
    cpuPerCall:
      processes.length === 0 ? null : { median: median(perCall), min: Math.min(...perCall), max: Math.max(...perCall) },
    cpuByProcess: Object.fromEntries(
      processes.map((name) => [name, medianOf((sample) => (sample.cpuMicros[name] ?? 0) / sample.result.calls)]),
    ),
    firstByteMs: spread('firstByteMs', () => undefined),
    completeMs: spread('completeMs', () => undefined),
    addedFirstByteMs: spread('firstByteMs', (sample) => directOf(sample)?.result.firstByteMs),
    addedCompleteMs: spread('completeMs', (sample) => directOf(sample)?.result.completeMs),
    loadShare: medianOf(({ loadMicros, result }) => loadMicros / 1000 / result.elapsedMs),
  };
}
