import { expect, test } from '@jest/globals';
import { sample } from '../../test/samples.js';
import { summarise } from './summarise.js';

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
