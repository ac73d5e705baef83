import { expect, test } from '@jest/globals';
import { SeededRandom } from '@gateway/testkit/random';
import { SOAK_MIX, piecesOf, planCall } from '../load/call-plan.js';
import { planFaults } from './fault-plan.js';

const CALLS = 20_000;
const SEED = 1;
const targets = { processes: ['edge-proxy-1', 'billing-1'], links: ['admission to redis'] };

function plans(seed: number) {
  const random = new SeededRandom(seed);
  return Array.from({ length: CALLS }, (_, index) => planCall(index + 1, random, SOAK_MIX));
}

test('planCall abandons 30 % of soak streams and reads 5 % slowly over plain HTTP', () => {
  const streams = plans(SEED).filter(({ streamed }) => streamed);
  const left = streams.filter(({ leaves }) => leaves !== null).length / streams.length;
  const slow = streams.filter(({ isSlow }) => isSlow);
  expect([left > 0.28, left < 0.33]).toEqual([true, true]);
  expect([slow.length / streams.length > 0.04, slow.length / streams.length < 0.06]).toEqual([true, true]);
  expect(slow.filter(({ client, leaves }) => client !== 'http' || leaves !== null)).toEqual([]);
});

test('the seed determines the planned calls and faults', () => {
  expect(plans(SEED)).toEqual(plans(SEED));
  expect(plans(SEED)).not.toEqual(plans(SEED + 1));
  const faults = (seed: number) => planFaults(40, targets, new SeededRandom(seed));
  expect(faults(SEED)).toEqual(faults(SEED));
  expect(faults(SEED)).not.toEqual(faults(SEED + 1));
});

test('planFaults uses every kind, and two calls have no text in common', () => {
  const kinds = new Set(planFaults(20, targets, new SeededRandom(SEED)).map(({ what }) => what));
  expect([...kinds].sort()).toEqual([
    'delay',
    'flush',
    'freeze',
    'kill',
    'reset',
    'restart',
    'stall',
    'stop without nats',
  ]);
  const [one = [], other = []] = plans(SEED).map(piecesOf);
  expect(one.filter((piece) => other.includes(piece))).toEqual([]);
  expect([new Set(one).size, one.length > 0, other.length > 0]).toEqual([one.length, true, true]);
});
