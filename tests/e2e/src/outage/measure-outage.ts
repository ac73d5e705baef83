import type { ClientCall, Evidence } from '../faults/evidence.js';
import { isRefusedFor } from '../standbys/suffer-standby-faults.js';
import type { OutageFigures } from './run-outage.js';
import type { Sample } from './read-sample.js';

/** Results that are computed from the samples of an outage. */
export interface OutageMeasures {
  readonly seconds: number;
  /** Usage records of calls that began between the first and the last sample. */
  readonly stored: number;
  /**
   * Holds that were created in the same time. There are fewer holds than records, because failed
   * calls leave none.
   */
  readonly held: number;
  readonly bytesPerCall: { readonly stream: number; readonly redis: number };
  /** Rates per second in the first and the last quarter of the outage. */
  readonly logLines: Ends;
  readonly questions: Ends;
  readonly asked: Ends;
  /** Share of a processor, from 0 to 1. */
  readonly redisCpu: Ends;
  /** Calls that the outage refused or broke, by code, until billing had caught up. */
  readonly refused: ReadonlyMap<string, number>;
  /** Idle share of the machine, from 0 to 1. */
  readonly idleShare: number;
}

export interface Ends {
  readonly first: number;
  readonly last: number;
}

export function measureOutage({ samples, downAt, caughtUpAt, evidence }: OutageFigures): OutageMeasures {
  const [first, last] = endsOf(samples);
  const stored = evidence.records.filter(({ startedAt }) => startedAt >= first.at && startedAt < last.at).length;
  const held = last.holds - first.holds;
  const refused = new Map<string, number>();
  for (const call of evidence.calls) {
    if (!isRefusedFor(call, { from: downAt, until: caughtUpAt })) continue;
    const code = call.code ?? call.ending;
    refused.set(code, (refused.get(code) ?? 0) + 1);
  }
  const [busy, idle] = [last.busySeconds - first.busySeconds, last.idleSeconds - first.idleSeconds];
  return {
    seconds: (last.at - first.at) / 1_000,
    stored,
    held,
    bytesPerCall: {
      stream: (last.streamBytes - first.streamBytes) / stored,
      redis: (last.redisBytes - first.redisBytes) / held,
    },
    logLines: ratesOf(samples, ({ logLines }) => logLines),
    questions: ratesOf(samples, ({ questions }) => questions),
    asked: ratesOf(samples, ({ asked }) => asked),
    redisCpu: ratesOf(samples, ({ redisCpuSeconds }) => redisCpuSeconds),
    refused,
    idleShare: idle / (busy + idle),
  };
}

/**
 * Milliseconds from the start of a call at its client until it reached the provider: the time that
 * admission takes.
 */
export function waitsOf({ calls, provider }: Evidence, from: number, to: number): number[] {
  const reached = new Map<number, number>();
  for (const { n, begunAt } of provider) if (!reached.has(n)) reached.set(n, begunAt);
  const isWithin = ({ begunAt }: ClientCall): boolean => begunAt >= from && begunAt < to;
  const waits = calls.filter(isWithin).flatMap(({ n, begunAt }) => (reached.get(n) ?? NaN) - begunAt);
  return waits.filter((ms) => !Number.isNaN(ms)).sort((one, other) => one - other);
}

function ratesOf(samples: readonly Sample[], of: (sample: Sample) => number): Ends {
  const [first, last] = endsOf(samples);
  const quarter = Math.max(1, Math.floor(samples.length / 4));
  const early = samples[quarter] ?? last;
  const late = samples[samples.length - 1 - quarter] ?? first;
  const rate = (one: Sample, other: Sample): number => (of(other) - of(one)) / ((other.at - one.at) / 1_000);
  return { first: rate(first, early), last: rate(late, last) };
}

export function endsOf(samples: readonly Sample[]): [Sample, Sample] {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || first === last)
    throw new Error('an outage needs at least two samples');
  return [first, last];
}
