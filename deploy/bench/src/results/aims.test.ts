import { expect, test } from '@jest/globals';
import { sample } from '../../test/samples.js';
import { isMet, ratiosOf } from './aims.js';
import { summarise } from './summarise.js';

const ratio = (what: string, ratios: ReturnType<typeof ratiosOf>) => ratios.find((one) => one.what.includes(what));

test('our whole is compared with Portkey, our edge with the bare relay', () => {
  const ratios = ratiosOf(
    summarise([
      sample('gateway', 1, { 'edge-proxy': 90, nats: 110 }, 1),
      sample('portkey', 1, { portkey: 1_000 }, 1),
      sample('relay', 1, { relay: 40 }, 1),
    ]),
  );
  const whole = ratio('CPU of all processes per plain call, gateway ÷ Portkey', ratios);
  const edge = ratio('CPU of the edge per plain call ÷ bare relay', ratios);
  expect(whole?.measured).toBeCloseTo(0.2);
  expect(edge?.measured).toBeCloseTo(2.25);
  expect(whole && isMet(whole)).toBe(true);
  expect(edge && isMet(edge)).toBe(false);
});

test('an aim of at least is met from above', () => {
  const what = 'calls/s';
  expect(isMet({ what, measured: 6, aim: { atLeast: 6 } })).toBe(true);
  expect(isMet({ what, measured: 5.9, aim: { atLeast: 6 } })).toBe(false);
  expect(isMet({ what, measured: 5.9, aim: null })).toBeNull();
});

test('a ratio with a side that was not measured is left out', () => {
  expect(ratiosOf(summarise([sample('gateway', 1, { 'edge-proxy': 90 }, 1)]))).toEqual([]);
});
