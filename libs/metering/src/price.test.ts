import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { flatPriceFigures, priceFigures, tokenUsage } from '../test/arbitraries.js';
import { AMOUNT_NANO_USD_MAX } from './money.js';
import { rate } from './price.js';
import type { PriceFigures, TokenUsage } from './price.js';

const FLAT: PriceFigures = {
  inputPerMillion: 3_000_000_000n,
  cachedInputPerMillion: 300_000_000n,
  cacheWritePerMillion: 3_750_000_000n,
  cacheWrite1hPerMillion: 6_000_000_000n,
  outputPerMillion: 15_000_000_000n,
  perCall: 0n,
  tiers: [],
};
const ONE_PER_MILLION: PriceFigures = { ...FLAT, inputPerMillion: 1n, outputPerMillion: 1n };

test.each<[string, Partial<TokenUsage>, Partial<PriceFigures>, bigint]>([
  ['nothing used', {}, {}, 0n],
  ['plain input', { input: 1000 }, {}, 3_000_000n],
  ['output', { output: 1000 }, {}, 15_000_000n],
  [
    'all kinds',
    { input: 1000, cachedInput: 400, cacheWrite: 300, cacheWrite1h: 200 },
    {},
    300_000n + 120_000n + 1_125_000n + 1_200_000n,
  ],
  ['cached without its own price', { input: 10, cachedInput: 10 }, { cachedInputPerMillion: null }, 30_000n],
  ['cache write without its own price', { input: 10, cacheWrite: 10 }, { cacheWritePerMillion: null }, 30_000n],
  ['1 h cache write without its own price', { input: 10, cacheWrite1h: 10 }, { cacheWrite1hPerMillion: null }, 30_000n],
  ['a price of 0 is no missing price', { input: 10, cachedInput: 10 }, { cachedInputPerMillion: 0n }, 0n],
  ['per call', { output: 1 }, { perCall: 7n }, 15_007n],
  ['excess cuts cached input first', { input: 10, cachedInput: 10, cacheWrite: 4 }, {}, 6n * 300n + 4n * 3750n],
  ['then cache writes', { input: 10, cachedInput: 10, cacheWrite: 9, cacheWrite1h: 4 }, {}, 6n * 3750n + 4n * 6000n],
  ['then 1 h cache writes', { input: 10, cachedInput: 1, cacheWrite: 1, cacheWrite1h: 40 }, {}, 60_000n],
])('%s', (_name, usage, price, amount) => {
  expect(rate(usageOf(usage), { ...FLAT, ...price })).toBe(amount);
});

test.each([
  [0, 0n],
  [499_999, 0n],
  [500_000, 1n],
  [1_499_999, 1n],
  [1_500_000, 2n],
])('%i millionths are rounded half up to %s', (input, amount) => {
  expect(rate(usageOf({ input }), ONE_PER_MILLION)).toBe(amount);
});

test('a call is rounded once, not per kind of token', () => {
  expect(rate(usageOf({ input: 300_000, output: 300_000 }), ONE_PER_MILLION)).toBe(1n);
});

test.each([
  [100, 300_000n],
  [101, 606_000n],
  [200, 1_200_000n],
  [201, 1_809_000n],
])('a call of %i input tokens is priced whole by the highest tier it exceeds', (input, amount) => {
  const tier = { ...FLAT, cachedInputPerMillion: null };
  const tiers = [
    { ...tier, aboveInputTokens: 200, inputPerMillion: 9_000_000_000n },
    { ...tier, aboveInputTokens: 100, inputPerMillion: 6_000_000_000n },
  ];
  expect(rate(usageOf({ input }), { ...FLAT, tiers })).toBe(amount);
  expect(rate(usageOf({ input }), { ...FLAT, tiers: tiers.toReversed() })).toBe(amount);
});

test('a missing price in a tier falls back to the input price of that tier', () => {
  const tiers = [{ ...FLAT, aboveInputTokens: 5, inputPerMillion: 6_000_000_000n, cachedInputPerMillion: null }];
  expect(rate(usageOf({ input: 10, cachedInput: 10 }), { ...FLAT, tiers })).toBe(60_000n);
});

test('no charge is above the largest amount', () => {
  const usage = usageOf({ input: Number.MAX_SAFE_INTEGER, output: Number.MAX_SAFE_INTEGER });
  expect(rate(usage, FLAT)).toBe(AMOUNT_NANO_USD_MAX);
});

test.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])(
  'a count of %p is a fault, never an amount',
  (count) => {
    for (const name of ['input', 'cachedInput', 'cacheWrite', 'cacheWrite1h', 'output']) {
      expect(() => rate(usageOf({ input: 10, [name]: count }), FLAT)).toThrow(RangeError);
    }
  },
);

test('more output never costs less', () => {
  fc.assert(
    fc.property(priceFigures, tokenUsage, fc.nat(1_000_000), (price, usage, more) => {
      expect(rate({ ...usage, output: usage.output + more }, price)).toBeGreaterThanOrEqual(rate(usage, price));
    }),
  );
});

test('more input never costs less while no tier is crossed', () => {
  fc.assert(
    fc.property(flatPriceFigures, tokenUsage, fc.nat(1_000_000), (price, usage, more) => {
      expect(rate({ ...usage, input: usage.input + more }, price)).toBeGreaterThanOrEqual(rate(usage, price));
    }),
  );
});

test('a dearer price never costs less', () => {
  const raise = fc.bigInt(0n, 1_000_000_000n);
  fc.assert(
    fc.property(priceFigures, tokenUsage, raise, raise, raise, (price, usage, input, output, perCall) => {
      const dearer: PriceFigures = {
        ...price,
        inputPerMillion: price.inputPerMillion + input,
        outputPerMillion: price.outputPerMillion + output,
        perCall: price.perCall + perCall,
      };
      expect(rate(usage, dearer)).toBeGreaterThanOrEqual(rate(usage, price));
    }),
  );
});

function usageOf(usage: Partial<TokenUsage>): TokenUsage {
  return { input: 0, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 0, ...usage };
}
