import { groupBy } from '@gateway/service-kit';
import { STREAM_CHUNKS } from '../peers/peer.js';
import { type Factor, type Spread, compare, median, sumOf } from '../statistics.js';
import type { CallCounts } from './count-calls.js';
import type { IdleReading, Sample } from './measure.js';
import { AT_A_RATE, FULL_LOAD, HALF_LOAD, ONE_AT_A_TIME, STREAMS } from './scenarios.js';

/** Medians over the rounds of one peer in one scenario. */
export interface Summary {
  readonly scenario: string;
  readonly peer: string;
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

const callRateOf = (sample: Sample | undefined): number | undefined =>
  sample && sample.result.calls / (sample.result.elapsedMs / 1000);
const cpuOf = ({ cpuMicros }: Sample): number => sumOf(Object.values(cpuMicros));

/** Returns a summary per scenario and peer with answered calls, in the samples' order. */
export function summarise(samples: readonly Sample[]): Summary[] {
  const groups = groupBy(samples, ({ scenario, peer }) => `${scenario} ${peer}`);
  return [...groups.values()].flatMap((group) => {
    const answered = group.filter((sample) => sample.result.calls > 0);
    const first = answered[0];
    return first === undefined ? [] : [summariseGroup(first, group, answered, samples)];
  });
}

function summariseGroup(
  { scenario, peer, cpuMicros }: Sample,
  group: readonly Sample[],
  answered: readonly Sample[],
  all: readonly Sample[],
): Summary {
  const medianOf = (value: (sample: Sample) => number): number => median(answered.map(value));
  const directOf = ({ round }: Sample): Sample | undefined =>
    all.find((sample) => sample.peer === 'direct' && sample.scenario === scenario && sample.round === round);
  const spread = (time: 'firstByteMs' | 'completeMs', less: (sample: Sample) => Sample | undefined): Spread => {
    const at = (part: keyof Spread) =>
      medianOf((sample) => sample.result[time][part] - (less(sample)?.result[time][part] ?? 0));
    return { p50: at('p50'), p99: at('p99') };
  };
  const perCall = answered.map((sample) => cpuOf(sample) / sample.result.calls);
  const processes = Object.keys(cpuMicros);
  return {
    scenario,
    peer,
    calls: sumOf(group.map(({ result }) => result.calls)),
    failed: sumOf(group.map(({ failed }) => failed)),
    callsPerSecond: medianOf((sample) => callRateOf(sample) ?? 0),
    cpuPerCall:
      processes.length === 0 ? null : { median: median(perCall), min: Math.min(...perCall), max: Math.max(...perCall) },
    cpuByProcess: Object.fromEntries(
      processes.map((name) => [name, medianOf((sample) => (sample.cpuMicros[name] ?? 0) / sample.result.calls)]),
    ),
    firstByteMs: spread('firstByteMs', () => undefined),
    completeMs: spread('completeMs', () => undefined),
    addedFirstByteMs: spread('firstByteMs', directOf),
    addedCompleteMs: spread('completeMs', directOf),
    loadShare: medianOf(({ loadMicros, result }) => loadMicros / 1000 / result.elapsedMs),
  };
}

/** Returns the value of one peer in one round, or undefined if it was not measured. */
type RoundValue = (of: (scenario: string) => Sample | undefined, idle: IdleReading | undefined) => number | undefined;

const perCall = (scenario: string, micros: (sample: Sample) => number, chunks = 1): RoundValue => {
  return (of) => {
    const sample = of(scenario);
    return sample && micros(sample) / sample.result.calls / chunks;
  };
};
/** CPU of the edge alone for a gateway, and of all processes for any other peer. */
const edgeOf = (sample: Sample): number => sample.cpuMicros['edge-proxy'] ?? cpuOf(sample);

const FACTORS: readonly (readonly [what: string, value: RoundValue])[] = [
  ['first byte p50, 1 connection, ms', (of) => of(ONE_AT_A_TIME)?.result.firstByteMs.p50],
  ['first byte p99, 1 connection, ms', (of) => of(ONE_AT_A_TIME)?.result.firstByteMs.p99],
  ['first byte p50, half load, ms', (of) => of(HALF_LOAD)?.result.firstByteMs.p50],
  ['first byte p99, half load, ms', (of) => of(HALF_LOAD)?.result.firstByteMs.p99],
  ['complete response (its record stored) p50, 1 connection, ms', (of) => of(ONE_AT_A_TIME)?.result.completeMs.p50],
  ['calls/s, 64 connections', (of) => callRateOf(of(FULL_LOAD))],
  ['CPU of all processes per plain call, 64 connections, µs', perCall(FULL_LOAD, cpuOf)],
  ['CPU of all processes per plain call, 200 calls a second, µs', perCall(AT_A_RATE, cpuOf)],
  [
    'CPU of all processes without calls, µs per second',
    (_of, idle) => idle && sumOf(Object.values(idle.cpuMicrosPerSecond)),
  ],
  ['CPU of all processes per streamed chunk, µs', perCall(STREAMS, cpuOf, STREAM_CHUNKS.streamed)],
  ['CPU of the edge per plain call, 64 connections, µs', perCall(FULL_LOAD, edgeOf)],
  ['CPU of the edge per streamed chunk, µs', perCall(STREAMS, edgeOf, STREAM_CHUNKS.streamed)],
];

/** Compares two peers. A row needs one round of both. */
export function findFactors(
  samples: readonly Sample[],
  idle: readonly IdleReading[],
  { ours, theirs }: { readonly ours: string; readonly theirs: string },
): (Factor & { readonly what: string })[] {
  const rounds = [...new Set([...samples, ...idle].map(({ round }) => round))];
  return FACTORS.flatMap(([what, value]) => {
    const valueOf = (peer: string, round: number): number => {
      const own = (one: { readonly peer: string; readonly round: number }) => one.peer === peer && one.round === round;
      return value((scenario) => samples.find((one) => own(one) && one.scenario === scenario), idle.find(own)) ?? NaN;
    };
    const factor = compare(rounds.map((round) => ({ ours: valueOf(ours, round), theirs: valueOf(theirs, round) })));
    return factor === null ? [] : [{ what, ...factor }];
  });
}

/** Smallest size, in bytes per call, of a table that is listed separately. */
const TABLE_BYTES_MIN = 10;

type CountValue = (counts: CallCounts) => number;

/** Number of calls, or of seconds if no call ran. */
const unitsOf = ({ calls, seconds, scenario }: CallCounts): number => (scenario === null ? seconds : calls);
const counter = (counts: CallCounts, name: string): number => counts.counters[name] ?? NaN;
const each =
  (...names: readonly string[]): CountValue =>
  (counts) =>
    sumOf(names.map((name) => counter(counts, name))) / unitsOf(counts);
const within =
  (many: string, of: string): CountValue =>
  (counts) =>
    counter(counts, many) / counter(counts, of);
const keptBytes: CountValue = (counts) =>
  Object.keys(counts.tableBytes).length === 0 ? NaN : sumOf(Object.values(counts.tableBytes)) / unitsOf(counts);

const COUNTS: readonly (readonly [what: string, value: CountValue])[] = [
  ['messages with entries to admission', each('admissionBatches')],
  ['entries (admissions and releases) in each of these', within('admissionEntries', 'admissionBatches')],
  ['usage messages', each('usageMessages')],
  ['usage events in each of these', within('settledEvents', 'usageMessages')],
  ['settling transactions', each('settlements')],
  ['usage events in each of these', within('settledEvents', 'settlements')],
  ['messages into the bus', each('busMessagesIn')],
  ['messages out of the bus', each('busMessagesOut')],
  ['bytes into the bus', each('busBytesIn')],
  ['bytes out of the bus', each('busBytesOut')],
  // Each message once, and usage again on its way out of its stream.
  ['bytes on the bus, usage in and out of its stream', each('busBytesIn', 'usageBytes')],
  ['script runs in Redis', each('redisScripts')],
  ['other commands in Redis, including those within scripts', each('redisCommands')],
  ['bytes into Redis', each('redisBytesIn')],
  ["bytes in Redis' append-only file", each('redisAppendedBytes')],
  ['bytes in the write-ahead log of PostgreSQL', each('walBytes')],
  ['bytes kept in the ledger with indexes', keptBytes],
  ['instructions of all processes, where the machine counts them', each('instructions')],
];

/** One row of the table of counts, with a value for each column. NaN: unknown. */
export interface CountRow {
  readonly what: string;
  readonly values: readonly number[];
}

/** Returns the rows of one gateway's table, with a value for each of `columns`. */
export function listCounts(columns: readonly CallCounts[]): CountRow[] {
  const row = (what: string, value: CountValue): CountRow => ({ what, values: columns.map(value) });
  const namesIn = (of: 'tableBytes' | 'wakeUps') => [...new Set(columns.flatMap((counts) => Object.keys(counts[of])))];
  const tables = namesIn('tableBytes')
    .map((name) => row(`of it ${name}`, (counts) => (counts.tableBytes[name] ?? 0) / unitsOf(counts)))
    .filter(({ values }) => values.some((bytes, at) => columns[at]?.scenario !== null && bytes >= TABLE_BYTES_MIN))
    .sort((a, b) => Math.max(...b.values) - Math.max(...a.values));
  return [
    ...COUNTS.map(([what, value]) => row(what, value)),
    ...tables,
    row('wake-ups', (counts) => sumOf(Object.values(counts.wakeUps)) / unitsOf(counts)),
    ...namesIn('wakeUps').map((name) =>
      row(`of it ${name}`, (counts) => (counts.wakeUps[name] ?? NaN) / unitsOf(counts)),
    ),
  ];
}
