import { expect, test } from '@jest/globals';
import type { AttackSeen, StrangersSeen } from './attack-in-turn.js';
import { judgeRate, judgeStrangers, residentMeans } from './judge-strangers.js';
import type { GoodCount, GoodCounts } from './tally.js';
import type { MemorySample } from './watch-memory.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const MEGABYTE = 1024 * 1024;

const served = (asked: number): GoodCount => ({ asked, wrong: {}, slowestMs: 5 });
const good = (change: Partial<GoodCounts> = {}): GoodCounts => ({
  calls: served(3_000 * 60),
  pages: served(100),
  operators: served(10),
  'new keys': served(10),
  ...change,
});
const attack = (change: Partial<AttackSeen> = {}): AttackSeen => ({
  kind: 'slow-heads',
  fromMs: 0,
  toMs: HOUR_MS,
  figures: { connections: 3_000, connectionsMost: 3_000, answers: {} },
  good: good(),
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
const seen = (change: Partial<StrangersSeen> = {}): StrangersSeen => ({
  before: good(),
  attacks: [attack()],
  memory: memory(() => 100 * MEGABYTE),
  lengthMs: HOUR_MS,
  ...change,
});

test('a run in which nobody was refused and nothing grew is fine, however much a start takes', () => {
  expect(judgeStrangers(seen())).toEqual([]);
  expect(judgeStrangers(seen({ memory: memory((minute) => (minute < 5 ? 1 : 100) * MEGABYTE) }))).toEqual([]);
});

test.each(['calls', 'pages', 'operators', 'new keys'] as const)('one of the %s that was refused is told', (kind) => {
  const one = { [kind]: { asked: 180_000, wrong: { '503': 1 }, slowestMs: 5 } };
  const sentence = `1 of 180000 ${kind} were not served: {"503":1}`;
  expect(judgeStrangers(seen({ attacks: [attack({ good: good(one) })] }))).toEqual([`beside slow-heads: ${sentence}`]);
  expect(judgeStrangers(seen({ before: good(one) }))).toEqual([`before the attacks: ${sentence}`]);
});

test.each([
  ['an attacker that failed', { attacks: [attack({ figures: null })] }, /nothing was attacked/],
  [
    'an attacker that reached nobody',
    { attacks: [attack({ figures: { connections: 0, connectionsMost: 0, answers: {} } })] },
    /nothing was attacked/,
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
  ['memory that nobody saw at the end', { memory: memory(() => MEGABYTE).slice(0, 40) }, /edge-proxy-1 has NaN/],
])('%s is told', (_, change, sentence) => {
  expect(judgeStrangers(seen(change)).join()).toMatch(sentence);
});

test('the means are those of minutes five to fifteen and of the last ten', () => {
  const samples = memory((minute) => (minute >= 5 && minute <= 15 ? 10 : minute >= 50 ? 11 : 1_000));
  expect(residentMeans(seen({ memory: samples }))).toEqual([{ replica: 'edge-proxy-1', warm: 10, last: 11 }]);
  expect(judgeStrangers(seen({ memory: samples }))).toEqual([]);
});

test('a load that was too little to say anything is told', () => {
  expect(judgeRate(seen())).toEqual([]);
  const little = attack({ good: good({ calls: served(161_000) }) });
  expect(judgeRate(seen({ attacks: [little] }))).toEqual(['only 161000 good calls in 3600 s']);
});
