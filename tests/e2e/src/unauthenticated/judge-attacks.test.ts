import { expect, test } from '@jest/globals';
import { judgeAttacks, judgeRate, measureMemory } from './judge-attacks.js';
import type { AttackSeen, AttacksSeen, MemorySample } from './judge-attacks.js';
import type { ValidCount, ValidCounts } from './valid-load.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const MEGABYTE = 1024 * 1024;

const served = (sent: number): ValidCount => ({ sent, wrong: {}, slowestMs: 5 });
const valid = (change: Partial<ValidCounts> = {}): ValidCounts => ({
  calls: served(3_000 * 60),
  pages: served(100),
  operators: served(10),
  'new keys': served(10),
  ...change,
});
const attack = (change: Partial<AttackSeen> = {}): AttackSeen => ({
  kind: 'slow-heads',
  lengthMs: HOUR_MS,
  figures: { connections: 3_000, requests: 0, answers: {} },
  valid: valid(),
  ...change,
});
/** One sample per minute. */
const memory = (bytesAt: (minute: number) => number, pidAt: (minute: number) => number = () => 1): MemorySample[] =>
  Array.from({ length: 61 }, (_, minute) => ({
    atMs: minute * MINUTE_MS,
    replica: 'edge-proxy-1',
    pid: pidAt(minute),
    bytes: bytesAt(minute),
  }));
const seen = (change: Partial<AttacksSeen> = {}): AttacksSeen => ({
  before: valid(),
  attacks: [attack()],
  memory: memory(() => 100 * MEGABYTE),
  lengthMs: HOUR_MS,
  ...change,
});

test('judgeAttacks accepts a run without refusals, and any growth at the start', () => {
  expect(judgeAttacks(seen())).toEqual([]);
  expect(judgeAttacks(seen({ memory: memory((minute) => (minute < 5 ? 1 : 100) * MEGABYTE) }))).toEqual([]);
});

test.each(['calls', 'pages', 'operators', 'new keys'] as const)('judgeAttacks reports a refusal among %s', (kind) => {
  const one = { [kind]: { sent: 180_000, wrong: { '503': 1 }, slowestMs: 5 } };
  const sentence = `1 of 180000 ${kind} were not served: {"503":1}`;
  expect(judgeAttacks(seen({ attacks: [attack({ valid: valid(one) })] }))).toEqual([`during slow-heads: ${sentence}`]);
  expect(judgeAttacks(seen({ before: valid(one) }))).toEqual([`before the attacks: ${sentence}`]);
});

test.each([
  ['an attacker that failed', { attacks: [attack({ figures: null })] }, /nothing was attacked/],
  [
    'an attacker without connections',
    { attacks: [attack({ figures: { connections: 0, requests: 0, answers: {} } })] },
    /nothing was attacked/,
  ],
  [
    'repeated requests without a response',
    { attacks: [attack({ figures: { connections: 40, requests: 40, answers: {} } })] },
    /no response/,
  ],
  [
    'a process that ended',
    {
      memory: memory(
        () => MEGABYTE,
        (minute) => (minute < 30 ? 1 : 2),
      ),
    },
    /edge-proxy-1 ended 1 times/,
  ],
  [
    'memory that grew',
    { memory: memory((minute) => (minute < 50 ? 100 : 111) * MEGABYTE) },
    /edge-proxy-1 has 1.11 times/,
  ],
  ['memory without samples at the end', { memory: memory(() => MEGABYTE).slice(0, 40) }, /edge-proxy-1 has NaN/],
])('judgeAttacks reports %s', (_, change, sentence) => {
  expect(judgeAttacks(seen(change)).join()).toMatch(sentence);
});

test('measureMemory uses minutes five to fifteen and the last ten of an hour', () => {
  const samples = memory((minute) => (minute >= 5 && minute <= 15 ? 10 : minute >= 50 ? 11 : 1_000));
  expect(measureMemory(seen({ memory: samples }))).toEqual([
    { replica: 'edge-proxy-1', starts: 1, warm: 10, last: 11 },
  ]);
  expect(judgeAttacks(seen({ memory: samples }))).toEqual([]);
});

test('judgeRate reports a load that was too small', () => {
  expect(judgeRate(seen())).toEqual([]);
  const little = attack({ valid: valid({ calls: served(161_000) }) });
  expect(judgeRate(seen({ attacks: [little] }))).toEqual(['only 161000 valid requests in 3600 s']);
});
