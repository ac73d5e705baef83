import { expect, test } from '@jest/globals';
import { sample } from '../../test/samples.js';
import { memoryRatios, ratiosOf } from './ratios.js';
import { summarise } from './summarise.js';

const ratio = (what: string, ratios: ReturnType<typeof ratiosOf>) => ratios.find((one) => one.what.includes(what));

test('compares the whole gateway with Portkey and the edge with the relay', () => {
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
  const one = ratio('calls/s of one edge', ratios);
  expect(one?.measured).toBeCloseTo(1_000 / 90);
});

test('memoryRatios() returns the growth per stream with and without the base', () => {
  const open = (streams: number, kb: number) =>
    ({ peer: 'gateway', streams, spoiled: null, dropped: 0, bytesPerStream: { 'edge-proxy': kb * 1_000 } }) as const;
  const [whole, further] = memoryRatios([open(1_000, 75), open(5_000, 35)]);
  expect(whole).toMatchObject({ measured: 35 });
  expect(further?.measured).toBeCloseTo(25);
  expect(memoryRatios([open(5_000, 35)])).toHaveLength(1);
  expect(memoryRatios([])).toEqual([]);
});

test('leaves out a ratio if one side was not measured', () => {
  expect(ratiosOf(summarise([sample('gateway', 1, { 'edge-proxy': 90 }, 1)]))).toEqual([]);
});
