import { setTimeout as delay } from 'node:timers/promises';
import { median, percentile, sumOf } from '@gateway/testkit';
import { type Load, type LoadJob, type LoadResult, failuresTotal } from '../load/load.js';
import { subtract } from '../gateway/counters.js';
import { readCpu, readMemory } from '../machine/processes.js';
import { type Peer, SCENARIOS, STREAM_CHUNKS, type Scenario, createBody } from './scenarios.js';

const CHUNK_BYTES_MIN = 50;
const PLAIN = { bytesMin: 1_000, endsWith: '}' };
const WARM_UP_SECONDS = 0.3;
/** Delay until all open streams have begun. None has ended by then. */
const READ_AFTER_MS = 8_000;
const KB = 1_000;

/** One measurement of one peer in one scenario and round. CPU in microseconds. */
export interface Sample {
  readonly round: number;
  readonly scenario: string;
  readonly peer: string;
  readonly result: LoadResult;
  /** By process. */
  readonly cpuMicros: Readonly<Record<string, number>>;
  /** CPU of load and provider together. */
  readonly loadMicros: number;
}

/** Returns the load job of a scenario for a peer. */
export function createJob(peer: Peer, scenario: Omit<Scenario, 'id' | 'title'>, until: LoadJob['until']): LoadJob {
  const { kind, connections, perSecond = null } = scenario;
  const isStream = kind === 'streamed' || kind === 'open';
  const expected = isStream ? { bytesMin: STREAM_CHUNKS[kind] * CHUNK_BYTES_MIN, endsWith: 'data: [DONE]' } : PLAIN;
  const body = createBody(peer.models[kind], kind);
  return {
    port: peer.port,
    headers: peer.headers,
    body,
    expected,
    secrets: peer.secrets,
    connections,
    perSecond,
    until,
  };
}

/** Runs a job and waits until the peer has finished its work. */
export async function runJob(load: Load, peer: Peer, job: LoadJob): Promise<LoadResult> {
  const result = await load.run(job);
  await peer.settle(result.calls, failuresTotal(result));
  return result;
}

/**
 * Runs one measurement: a short warm-up, then the load between two CPU readings. The second reading
 * waits until the calls' work is done, so that billing a call is included.
 */
export async function measure(
  load: Load,
  peer: Peer,
  scenario: Scenario,
  round: number,
  seconds: number,
): Promise<Sample> {
  await runJob(load, peer, createJob(peer, scenario, { seconds: Math.min(seconds, WARM_UP_SECONDS) }));
  const before = readCpu(peer.processes, peer.except);
  const loadBefore = readCpu(load.processes);
  const result = await load.run(createJob(peer, scenario, { seconds }));
  const loadMicros = sumOf(Object.values(subtract(readCpu(load.processes), loadBefore)));
  await peer.settle(result.calls, failuresTotal(result));
  const cpuMicros = subtract(readCpu(peer.processes, peer.except), before);
  return { round, scenario: scenario.id, peer: peer.id, result, cpuMicros, loadMicros };
}

/**
 * Returns the KB of memory for each of so many streams that stay open, by process, and the number
 * of streams without a complete end.
 * @param fresh memory just after the start: later garbage would hide the memory of the streams
 */
export async function measureOpenStreams(
  load: Load,
  peer: Peer,
  streams: number,
  fresh: Readonly<Record<string, number>>,
): Promise<{ readonly kilobytes: Readonly<Record<string, number>>; readonly dropped: number }> {
  const running = runJob(load, peer, createJob(peer, { kind: 'open', connections: streams }, { calls: streams }));
  const reading = delay(READ_AFTER_MS).then(() => subtract(readMemory(peer.processes), fresh));
  const [growth, result] = await Promise.all([reading, running]);
  const kilobytes = Object.entries(growth).map(([name, bytes]) => [name, bytes / streams / KB]);
  return { kilobytes: Object.fromEntries(kilobytes) as Record<string, number>, dropped: failuresTotal(result) };
}

/** Units of one call: chunks of a stream, or the call itself. */
const unitsOf = ({ scenario }: Sample): number =>
  SCENARIOS.find(({ id }) => id === scenario)?.kind === 'streamed' ? STREAM_CHUNKS.streamed : 1;
const perUnit = (sample: Sample, micros: number): number => micros / sample.result.calls / unitsOf(sample);
const cpuOf = ({ cpuMicros }: Sample): number => sumOf(Object.values(cpuMicros));

/** A figure of one sample, by its title. Times in milliseconds. */
export type Figure = (sample: Sample) => number;

/** The figures that are compared between two peers. */
export const COMPARED: Readonly<Record<string, Figure>> = {
  'CPU µs': (sample) => perUnit(sample, cpuOf(sample)),
  // For a peer without an edge: all its CPU.
  'edge µs': (sample) => perUnit(sample, sample.cpuMicros['edge-proxy'] ?? cpuOf(sample)),
  'per second': (sample) => (sample.result.calls * unitsOf(sample) * 1_000) / sample.result.elapsedMs,
  'first byte p50': ({ result }) => result.firstByteMs.p50,
  'first byte p99': ({ result }) => result.firstByteMs.p99,
  'complete p50': ({ result }) => result.completeMs.p50,
  'complete p99': ({ result }) => result.completeMs.p99,
};
/** Further figures. From 90 % on, load and provider limited the calls per second. */
export const SHOWN: Readonly<Record<string, Figure>> = {
  'load core %': ({ loadMicros, result }) => loadMicros / result.elapsedMs / 10,
  failed: ({ result }) => failuresTotal(result),
};

const roundsOf = (samples: readonly Sample[], scenario: string, peer: string): Map<number, Sample> =>
  new Map(
    samples
      .filter((one) => one.scenario === scenario && one.peer === peer && one.result.calls > 0)
      .map((one) => [one.round, one]),
  );

/** Returns the medians over the rounds, or null without a measurement. */
export function summarize(samples: readonly Sample[], scenario: string, peer: string): number[] | null {
  const own = [...roundsOf(samples, scenario, peer).values()];
  if (own.length === 0) return null;
  const direct = roundsOf(samples, scenario, 'direct');
  const added = (at: 'p50' | 'p99') => (sample: Sample) =>
    sample.result.completeMs[at] - (direct.get(sample.round)?.result.completeMs[at] ?? NaN);
  const figures = [...Object.values({ ...COMPARED, ...SHOWN }), added('p50'), added('p99')];
  return figures.map((figure) => median(own.map(figure)));
}

/** Fewer rounds, or a middle half that spans more than this share, cannot show 5 %. */
const [ROUNDS_MIN, SPAN_MAX] = [5, 0.1];

/** Factor of a figure between two peers. */
export interface Factor {
  readonly scenario: string;
  readonly figure: string;
  /** Median and quartiles of the quotients within each round: a slower machine has no effect. */
  readonly median: number;
  readonly quartiles: readonly [number, number];
  readonly rounds: number;
  readonly isNoisy: boolean;
}

/** Compares two peers in all scenarios that both have measured. */
export function findFactors(samples: readonly Sample[], ours: string, theirs: string): Factor[] {
  return [...new Set(samples.map(({ scenario }) => scenario))].flatMap((scenario) => {
    const [own, other] = [roundsOf(samples, scenario, ours), roundsOf(samples, scenario, theirs)];
    return Object.entries(COMPARED).flatMap(([figure, value]) => {
      const quotients = [...own].map(
        ([round, sample]) => value(sample) / (other.has(round) ? value(other.get(round) as Sample) : NaN),
      );
      const known = quotients.filter(Number.isFinite);
      const [middle, low, high] = [median(known), percentile(known, 25), percentile(known, 75)];
      const isNoisy = known.length < ROUNDS_MIN || high - low > SPAN_MAX * middle;
      const factor = {
        scenario,
        figure,
        median: middle,
        quartiles: [low, high],
        rounds: known.length,
        isNoisy,
      } as const;
      return known.length === 0 ? [] : [factor];
    });
  });
}

/** Changes the first subject in each turn, and reverses the order every other turn. */
export function inTurn<T>(all: readonly T[], turn: number): T[] {
  const order = turn % 2 === 0 ? all : all.toReversed();
  const start = Math.floor(turn / 2) % all.length;
  return [...order.slice(start), ...order.slice(0, start)];
}
