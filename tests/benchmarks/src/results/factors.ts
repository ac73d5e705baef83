import { type PeerId, STREAM_CHUNKS } from '../peers/peer.js';
import { AT_A_RATE, FULL_LOAD, HALF_LOAD, ONE_AT_A_TIME, STREAMS } from '../scenarios.js';
import { type IdleReading, type Sample, median, percentile } from './statistics.js';

/** First steps and aims are factors relative to this commit. */
export const BASE_COMMIT = 'e6f4449';

/** One row of "this build ÷ commit". */
export interface Factor {
  readonly what: string;
  /** Medians over the rounds, in the unit named in `what`. */
  readonly ours: number;
  readonly theirs: number;
  /** Of the quotients within each round, so that a slower machine has no effect. */
  readonly factor: { readonly median: number; readonly min: number; readonly max: number };
  /** Number of rounds that measured both builds. */
  readonly rounds: number;
  /** First step and aim for the factor relative to {@link BASE_COMMIT}. */
  readonly aims: Aims;
  /** True if the rounds differ too much, or are too few, for a reliable median. */
  readonly isNoisy: boolean;
}

/** Fewer rounds do not show their spread. */
export const ROUNDS_MIN = 5;
/** The middle half of the rounds may span this share of the median. Then 5 % is visible. */
export const SPAN_MAX = 0.1;
const QUARTILES = [25, 75] as const;

/** Returns the value of one peer in one round. */
type Value = (of: (scenario: string) => Sample | undefined, idle: IdleReading | undefined) => number | undefined;

const total = (micros: Readonly<Record<string, number>>): number =>
  Object.values(micros).reduce((sum, one) => sum + one, 0);
const perCall = (sample: Sample | undefined, micros: (sample: Sample) => number): number | undefined =>
  sample && micros(sample) / sample.result.calls;
const whole = (sample: Sample): number => total(sample.cpuMicros);
const edge = (sample: Sample): number => sample.cpuMicros['edge-proxy'] ?? NaN;

const ROWS: readonly (readonly [what: string, aims: Aims, value: Value])[] = [
  [
    'first byte p50, 1 connection, ms',
    { firstStep: 0.83, aim: 0.65 },
    (of) => of(ONE_AT_A_TIME)?.result.firstByteMs.p50,
  ],
  [
    'first byte p99, 1 connection, ms',
    { firstStep: 0.88, aim: 0.53 },
    (of) => of(ONE_AT_A_TIME)?.result.firstByteMs.p99,
  ],
  ['first byte p50, half load, ms', { firstStep: 0.83, aim: 0.65 }, (of) => of(HALF_LOAD)?.result.firstByteMs.p50],
  ['first byte p99, half load, ms', { firstStep: 0.88, aim: 0.53 }, (of) => of(HALF_LOAD)?.result.firstByteMs.p99],
  [
    'complete response (its record stored) p50, 1 connection, ms',
    { firstStep: 0.76, aim: 0.54 },
    (of) => of(ONE_AT_A_TIME)?.result.completeMs.p50,
  ],
  [
    'CPU of all processes per plain call, 64 connections, µs',
    { firstStep: 0.68, aim: 0.48 },
    (of) => perCall(of(FULL_LOAD), whole),
  ],
  [
    'CPU of all processes per plain call, 200 calls a second, µs',
    { firstStep: 0.64, aim: 0.41 },
    (of) => perCall(of(AT_A_RATE), whole),
  ],
  [
    'CPU of all processes without calls, µs per second',
    { firstStep: 0.35, aim: 0.09 },
    (_of, idle) => idle && total(idle.cpuMicrosPerSecond),
  ],
  [
    'CPU of the edge per plain call, 64 connections, µs',
    { firstStep: 0.8, aim: 0.64 },
    (of) => perCall(of(FULL_LOAD), edge),
  ],
  [
    'CPU of the edge per streamed chunk, µs',
    { firstStep: 0.89, aim: 0.78 },
    (of) => perCall(of(STREAMS), (one) => edge(one) / STREAM_CHUNKS),
  ],
];

/** Compares this build with the other commit. A row needs one round of both. */
export function factorsOf(samples: readonly Sample[], idle: readonly IdleReading[]): Factor[] {
  const rounds = [...new Set([...samples, ...idle].map(({ round }) => round))];
  return ROWS.flatMap(([what, aims, value]) => {
    const valueOf = (peer: PeerId, round: number): number => {
      const own = <T extends { readonly peer: PeerId; readonly round: number }>(one: T): boolean =>
        one.peer === peer && one.round === round;
      const of = (scenario: string) => samples.find((one) => own(one) && one.scenario === scenario);
      return value(of, idle.find(own)) ?? NaN;
    };
    const pairs = rounds
      .map((round) => ({ ours: valueOf('gateway', round), theirs: valueOf('against', round) }))
      .filter(({ ours, theirs }) => Number.isFinite(ours / theirs));
    return pairs.length === 0 ? [] : [factorOf(what, aims, pairs)];
  });
}

function factorOf(
  what: string,
  aims: Aims,
  pairs: readonly { readonly ours: number; readonly theirs: number }[],
): Factor {
  const quotients = pairs.map(({ ours, theirs }) => ours / theirs).sort((a, b) => a - b);
  const middle = median(quotients);
  const [low, high] = QUARTILES.map((percent) => percentile(quotients, percent)) as [number, number];
  return {
    what,
    aims,
    ours: median(pairs.map(({ ours }) => ours)),
    theirs: median(pairs.map(({ theirs }) => theirs)),
    factor: { median: middle, min: Math.min(...quotients), max: Math.max(...quotients) },
    rounds: pairs.length,
    isNoisy: pairs.length < ROUNDS_MIN || high - low > SPAN_MAX * middle,
  };
}

/** Upper bounds of a value: a first step and the aim. */
export interface Aims {
  readonly firstStep: number;
  readonly aim: number;
}

/** Returns whether a value has reached the aim, only the first step, or neither. */
export function findReached(measured: number, { firstStep, aim }: Aims): 'aim' | 'first step' | 'no' {
  if (measured <= aim) return 'aim';
  return measured <= firstStep ? 'first step' : 'no';
}
