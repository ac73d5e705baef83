import { expect, test } from '@jest/globals';
import { sample } from '../../test/samples.js';
import type { CallCounts } from './count-calls.js';
import { findFactors, listCounts, summarise } from './figures.js';

test('returns medians over the rounds, with CPU per call by process', () => {
  const [gateway] = summarise([
    sample('gateway', 1, { edge: 80, nats: 10 }, 1),
    sample('gateway', 2, { edge: 90, nats: 8 }, 3),
    sample('gateway', 3, { edge: 400, nats: 9 }, 2),
  ]);
  expect(gateway).toMatchObject({
    calls: 3_000,
    callsPerSecond: 1_000,
    cpuPerCall: { median: 98, min: 90, max: 409 },
    cpuByProcess: { edge: 90, nats: 9 },
    firstByteMs: { p50: 2, p99: 6 },
    completeMs: { p50: 4, p99: 12 },
    loadShare: 0.5,
  });
});

test('computes added latency from the direct call of the same round', () => {
  const summaries = summarise([
    sample('direct', 1, {}, 1),
    sample('relay', 1, { relay: 40 }, 2),
    sample('direct', 2, {}, 10),
    sample('relay', 2, { relay: 40 }, 11),
  ]);
  expect(summaries.map(({ peer }) => peer)).toEqual(['direct', 'relay']);
  expect(summaries[1]).toMatchObject({
    addedFirstByteMs: { p50: 1, p99: 3 },
    addedCompleteMs: { p50: 2, p99: 6 },
  });
  expect(summaries[0]?.cpuPerCall).toBeNull();
});

test('counts failed calls and ignores a round without a response', () => {
  const dead = {
    calls: 0,
    failures: { 'status 500': 50 },
    elapsedMs: 0,
    firstByteMs: { p50: 0, p99: 0 },
    completeMs: { p50: 0, p99: 0 },
  };
  const [portkey] = summarise([
    sample('portkey', 1, { portkey: 1_000 }, 5, { failed: 2 }),
    sample('portkey', 2, { portkey: 1 }, 0, { failed: 50, result: dead }),
  ]);
  expect(portkey).toMatchObject({ calls: 1_000, failed: 52, cpuPerCall: { median: 1_000 }, firstByteMs: { p50: 5 } });
  expect(summarise([sample('portkey', 1, {}, 0, { result: dead })])).toEqual([]);
});

const CPU = 'CPU of all processes per plain call, 64 connections, µs';
const BUILDS = { ours: 'gateway', theirs: 'against' };
/** A round with measurements of both builds. */
const round = (n: number, ours: number, theirs: number) => [
  sample('gateway', n, { 'edge-proxy': ours * 0.25, nats: ours * 0.75 }, 2),
  sample('against', n, { 'edge-proxy': theirs * 0.5, nats: theirs * 0.5 }, 4),
];
const named = (what: string, factors: ReturnType<typeof findFactors>) => factors.find((one) => one.what === what);

test('the factor is the median of the factors within the rounds', () => {
  const samples = [
    [80, 100],
    [160, 200],
    [410, 500],
    [800, 1_000],
    [83, 100],
  ].flatMap(([ours = 0, theirs = 0], n) => round(n + 1, ours, theirs));
  const factors = findFactors(samples, [], BUILDS);
  const whole = named(CPU, factors);
  expect(whole).toMatchObject({ ours: 160, theirs: 200, rounds: 5, isNoisy: false, quartiles: [0.8, 0.82] });
  expect(whole?.median).toBeCloseTo(0.8);
  expect(named('CPU of the edge per plain call, 64 connections, µs', factors)?.median).toBeCloseTo(0.4);
});

test('every factor uses its scenario and the idle CPU of the same round', () => {
  const scenarios = ['plain-1', 'paced-200', 'paced-half', 'plain-64', 'streamed-16'];
  const samples = scenarios.flatMap((scenario) => round(1, 50, 100).map((one) => ({ ...one, scenario })));
  const idle = (peer: string, n: number, nats: number) =>
    ({ peer, round: n, cpuMicrosPerSecond: { nats, redis: 10 } }) as const;
  const readings = [idle('gateway', 1, 10), idle('against', 1, 90), idle('gateway', 2, 500)];
  const factors = findFactors(samples, readings, BUILDS);
  expect(factors.map(({ median }) => median)).toEqual([0.5, 0.5, 0.5, 0.5, 0.5, 1, 0.5, 0.5, 0.2, 0.5, 0.25, 0.25]);
});

test('the edge is compared with all processes of another peer', () => {
  const samples = [sample('gateway', 1, { 'edge-proxy': 90, nats: 110 }, 1), sample('relay', 1, { relay: 40 }, 1)];
  const factors = findFactors(samples, [], { ours: 'gateway', theirs: 'relay' });
  expect(named('CPU of the edge per plain call, 64 connections, µs', factors)?.median).toBeCloseTo(2.25);
  expect(named(CPU, factors)?.median).toBeCloseTo(5);
});

test('a round that measured only one of the builds is ignored', () => {
  const samples = [sample('gateway', 1, { nats: 1 }, 2), sample('against', 2, { nats: 1 }, 2)];
  expect(findFactors(samples, [], BUILDS)).toEqual([]);
});

const full: CallCounts = {
  peer: 'gateway',
  scenario: 'plain-64',
  calls: 1_000,
  seconds: 4,
  counters: {
    admissionBatches: 100,
    admissionEntries: 2_000,
    usageMessages: 250,
    usageBytes: 1_250_000,
    settlements: 10,
    settledEvents: 1_000,
    busBytesIn: 3_400_000,
  },
  tableBytes: { usage_records: 900_000, ledger_entries: 600_000, audit: 8_192 },
  wakeUps: { 'edge-proxy': 3_000, nats: 1_000 },
};
const idle: CallCounts = {
  ...full,
  scenario: null,
  calls: 0,
  counters: { admissionBatches: 0, admissionEntries: 0 },
  tableBytes: {},
  wakeUps: { 'edge-proxy': 40, nats: 80 },
};
const values = (what: string) => listCounts([full, idle]).filter((row) => row.what === what)[0]?.values;

test('divides counts by calls, or by seconds if no call ran', () => {
  expect(values('messages with entries to admission')).toEqual([0.1, 0]);
  expect(values('entries (admissions and releases) in each of these')).toEqual([20, NaN]);
  expect(values('usage messages')).toEqual([0.25, NaN]);
  expect(values('settling transactions')?.[0]).toBe(0.01);
  expect(values('wake-ups')).toEqual([4, 30]);
  expect(values('of it nats')).toEqual([1, 20]);
  expect(values('bytes on the bus, usage in and out of its stream')).toEqual([4_650, NaN]);
  const [kept, keptIdle] = values('bytes kept in the ledger with indexes') ?? [];
  expect(kept).toBeCloseTo(1_508, 0);
  expect(keptIdle).toBeNaN();
});

test('lists large tables one by one, the largest first', () => {
  const tables = listCounts([full, idle]).filter(({ what }) => /usage_records|ledger_entries|audit/.test(what));
  expect(tables.map(({ what }) => what)).toEqual(['of it usage_records', 'of it ledger_entries']);
});
