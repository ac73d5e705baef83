import type { Evidence } from '../evidence/evidence.js';
import { isRefusedBy } from '../evidence/judge-call.js';
import { countEach } from '../runner/render-report.js';
import type { Sample } from './read-sample.js';

/**
 * Admission of a local system stops at these sizes, bytes (docs/protocol.md#r14,
 * docs/protocol.md#r15).
 */
const GIBIBYTE = 1024 ** 3;
const ROOM = { stream: 0.9 * 4 * GIBIBYTE, redis: 0.85 * GIBIBYTE };

/** Times are epoch milliseconds. */
export interface OutageSeen {
  readonly downAt: number;
  readonly backAt: number;
  readonly caughtUpAt: number;
  readonly samples: readonly Sample[];
  readonly waiting: number;
}

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
  readonly billingRequests: Ends;
  /** Calls that the outage refused or broke, by code, until billing had caught up. */
  readonly refused: Readonly<Record<string, number>>;
}

interface Ends {
  readonly first: number;
  readonly last: number;
}

export function measureOutage(
  { samples, downAt: from, caughtUpAt }: OutageSeen,
  { calls, records }: Pick<Evidence, 'calls' | 'records'>,
): OutageMeasures {
  const [first, last] = endsOf(samples);
  const stored = records.filter(({ startedAt }) => startedAt >= first.at && startedAt < last.at).length;
  const held = last.holds - first.holds;
  const refused = calls.filter((call) => isRefusedBy({ from, until: caughtUpAt }, call));
  return {
    seconds: (last.at - first.at) / 1_000,
    stored,
    held,
    bytesPerCall: {
      stream: (last.streamBytes - first.streamBytes) / stored,
      redis: (last.redisBytes - first.redisBytes) / held,
    },
    logLines: ratesOf(samples, ({ logLines }) => logLines),
    billingRequests: ratesOf(samples, ({ billingRequests }) => billingRequests),
    refused: Object.fromEntries(countEach(refused.map(({ code, ending }) => code ?? ending))),
  };
}

/** Seconds that each store lasts at the growth rate of the outage. */
export function expectedLeft(samples: readonly Sample[]): Sample['secondsLeft'] {
  const [first, last] = endsOf(samples);
  const left = (of: 'streamBytes' | 'redisBytes', max: number): number =>
    (max - last[of]) / ((last[of] - first[of]) / ((last.at - first.at) / 1_000));
  return { stream: left('streamBytes', ROOM.stream), redis: left('redisBytes', ROOM.redis) };
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
