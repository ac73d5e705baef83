import { expect, test } from '@jest/globals';
import { SeededRandom } from '@gateway/testkit/random';
import { SOAK_MIX, planCall, textOf } from './call-plan.js';
import { planFaults } from './fault-plan.js';

const CALLS = 20_000;
const SEED = 1;
const targets = { processes: ['edge-proxy-1', 'billing-1'], links: ['admission to redis'] };

function plans(seed: number) {
  const next = new SeededRandom(seed).next;
  return Array.from({ length: CALLS }, (_, index) => planCall(index + 1, next, SOAK_MIX));
}

test('of the streams of a soak about 30 % are left and 5 % read slowly; slow ones are raw and stay', () => {
  const streams = plans(SEED).filter(({ streamed }) => streamed);
  const left = streams.filter(({ leaves }) => leaves !== null).length / streams.length;
  const slow = streams.filter(({ isSlow }) => isSlow);
  expect([left > 0.28, left < 0.33]).toEqual([true, true]);
  expect([slow.length / streams.length > 0.04, slow.length / streams.length < 0.06]).toEqual([true, true]);
  expect(slow.filter(({ client, leaves }) => client !== 'raw' || leaves !== null)).toEqual([]);
});

test('the same seed plans the same calls and faults, another seed others', () => {
  expect(plans(SEED)).toEqual(plans(SEED));
  expect(plans(SEED)).not.toEqual(plans(SEED + 1));
  const faults = (seed: number) => planFaults(40, targets, new SeededRandom(seed).next);
  expect(faults(SEED)).toEqual(faults(SEED));
  expect(faults(SEED)).not.toEqual(faults(SEED + 1));
});

test('every kind of fault has its turn, and no two calls have a text in common', () => {
  const kinds = new Set(planFaults(20, targets, new SeededRandom(SEED).next).map(({ what }) => what));
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
  const [one, other] = plans(SEED);
  expect(one && other && textOf(one).includes(textOf(other).split(' ')[0] ?? '')).toBe(false);
});
