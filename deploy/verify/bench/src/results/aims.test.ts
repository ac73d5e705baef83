import { expect, test } from '@jest/globals';
import { sample } from '../../test/samples.js';
import { memoryRatios, ratiosOf, reached } from './aims.js';
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
  expect(whole && reached(whole)).toBe('aim');
  expect(edge && reached(edge)).toBe('first step');
  const one = ratio('calls/s of one edge', ratios);
  expect(one?.measured).toBeCloseTo(1_000 / 90);
  expect(one && reached(one)).toBe('aim');
});

test('an aim of at least is reached from above, and so is the first step to it', () => {
  const wanted = { what: 'calls/s', firstStep: { atLeast: 3 }, aim: { atLeast: 6 } };
  expect(reached({ ...wanted, measured: 6 })).toBe('aim');
  expect(reached({ ...wanted, measured: 5.9 })).toBe('first step');
  expect(reached({ ...wanted, measured: 2.9 })).toBe('no');
  expect(reached({ ...wanted, measured: 2.9, firstStep: null })).toBe('no');
  expect(reached({ ...wanted, measured: 5.9, aim: null })).toBeNull();
});

test('open streams are told with all that the process has grown by, and alone', () => {
  const open = (streams: number, kb: number) =>
    ({ peer: 'gateway', streams, dropped: 0, bytesPerStream: { 'edge-proxy': kb * 1_000 } }) as const;
  const [whole, further] = memoryRatios([open(1_000, 75), open(5_000, 35)]);
  expect(whole).toMatchObject({ measured: 35 });
  expect(whole && reached(whole)).toBe('first step');
  expect(further?.measured).toBeCloseTo(25);
  expect(memoryRatios([open(5_000, 35)])).toHaveLength(1);
  expect(memoryRatios([])).toEqual([]);
});

test('a ratio with a side that was not measured is left out', () => {
  expect(ratiosOf(summarise([sample('gateway', 1, { 'edge-proxy': 90 }, 1)]))).toEqual([]);
});
