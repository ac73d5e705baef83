import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { flatPriceFigures, priceFigures, tokenUsage } from '../test/arbitraries.js';
import { AMOUNT_NANO_USD_MAX } from './money.js';
import { SAMPLINGS_MAX, combineSamplings, rate, selectRecordedCost } from './price.js';
import { isPriced, STANDARD_SERVICE } from './price-extras.js';
import type { PriceExtras, Served } from './price-extras.js';
import type { TokenUsage } from './price.js';
import type { PriceFigures } from './price-extras.js';

const FLAT: PriceFigures = {
  inputPerMillion: 3_000_000_000n,
  cachedInputPerMillion: 300_000_000n,
  cacheWritePerMillion: 3_750_000_000n,
  cacheWrite1hPerMillion: 6_000_000_000n,
  outputPerMillion: 15_000_000_000n,
  perCall: 0n,
  tiers: [],
  extras: null,
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
  ['1 h cache write without its own price', { input: 10, cacheWrite1h: 10 }, { cacheWrite1hPerMillion: null }, 37_500n],
  ['a price of 0 is no missing price', { input: 10, cachedInput: 10 }, { cachedInputPerMillion: 0n }, 0n],
  ['per call', { output: 1 }, { perCall: 7n }, 15_007n],
  ['excess cuts cached input first', { input: 10, cachedInput: 10, cacheWrite: 4 }, {}, 6n * 300n + 4n * 3750n],
  ['then cache writes', { input: 10, cachedInput: 10, cacheWrite: 9, cacheWrite1h: 4 }, {}, 6n * 3750n + 4n * 6000n],
  ['then 1 h cache writes', { input: 10, cachedInput: 1, cacheWrite: 1, cacheWrite1h: 40 }, {}, 60_000n],
])('%s', (_name, usage, price, amount) => {
  expect(rate(usageOf(usage), { ...FLAT, ...price })).toBe(amount);
});

const NO_KINDS = { audioInput: null, audioOutput: null, imageInput: null, imageOutput: null };
const EXTRAS: PriceExtras = {
  classes: {
    priority: { ...FLAT, inputPerMillion: 6_000_000_000n, outputPerMillion: 30_000_000_000n },
    flex: { ...FLAT, tiers: [{ ...FLAT, aboveInputTokens: 9, inputPerMillion: 1_000_000_000n }] },
  },
  units: { web_search: 10_000_000n },
  kinds: { ...NO_KINDS, audioInput: 40_000_000_000n, audioOutput: 80_000_000_000n, imageOutput: 0n },
};
const KINDS = { audioInput: 0, imageInput: 0, audioOutput: 0, imageOutput: 0 };

test.each<[string, Partial<TokenUsage>, Partial<Served>, bigint]>([
  ['a class has its own prices', { input: 10, output: 10 }, { class: 'priority' }, 360_000n],
  ['a class has its own tiers', { input: 10 }, { class: 'flex' }, 10_000n],
  ['a class without a price is standard', { input: 10, output: 10 }, { class: 'fast' }, 180_000n],
  ['uses are charged by the piece', { output: 1 }, { units: { web_search: 3 } }, 15_000n + 30_000_000n],
  ['a unit without a price costs nothing', {}, { units: { constructor: 2, other: 1 } }, 0n],
  ['audio of the input', { input: 10, kinds: { ...KINDS, audioInput: 4 } }, {}, 18_000n + 160_000n],
  ['audio of a class', { input: 10, kinds: { ...KINDS, audioInput: 4 } }, { class: 'priority' }, 36_000n + 320_000n],
  ['a kind without a price is text', { input: 10, kinds: { ...KINDS, imageInput: 4 } }, {}, 30_000n],
  ['a kind that costs nothing', { output: 10, kinds: { ...KINDS, imageOutput: 4 } }, {}, 90_000n],
  [
    'what came from a cache is no audio',
    { input: 10, cachedInput: 8, kinds: { ...KINDS, audioInput: 9 } },
    {},
    82_400n,
  ],
  ['images are cut before audio', { output: 10, kinds: { ...KINDS, audioOutput: 9, imageOutput: 9 } }, {}, 720_000n],
])('%s', (_name, usage, served, amount) => {
  const price = { ...FLAT, extras: EXTRAS };
  expect(rate(usageOf(usage), price, { class: 'standard', units: {}, ...served })).toBe(amount);
});

test('isPriced() is true only for classes and units of the version', () => {
  expect(isPriced(STANDARD_SERVICE, null)).toBe(true);
  expect(isPriced({ class: 'flex', units: { web_search: 1 } }, EXTRAS)).toBe(true);
  expect(isPriced({ class: 'fast', units: {} }, EXTRAS)).toBe(false);
  expect(isPriced({ class: 'standard', units: { constructor: 1 } }, EXTRAS)).toBe(false);
  expect(isPriced({ class: 'flex', units: {} }, null)).toBe(false);
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

test('rate() prices each sampling by the tier of its own input', () => {
  const tiers = [
    { ...FLAT, aboveInputTokens: 100, inputPerMillion: 6_000_000_000n, outputPerMillion: 30_000_000_000n },
  ];
  const usage = combineSamplings([usageOf({ input: 60, output: 1 }), usageOf({ input: 101, output: 2 })]);
  expect(usage).toMatchObject({ input: 161, output: 3 });
  expect(rate(usage, { ...FLAT, tiers })).toBe(60n * 3_000n + 15_000n + 101n * 6_000n + 60_000n);
});

test('rate() rounds once for all samplings and charges the call once', () => {
  const half = usageOf({ input: 500_000 });
  expect(rate(combineSamplings([half, half]), { ...ONE_PER_MILLION, perCall: 7n })).toBe(8n);
});

test('combineSamplings() adds up counts and kinds and keeps at most 64 samplings', () => {
  const kinds = { audioInput: 1, imageInput: 2, audioOutput: 3, imageOutput: 4 };
  const sampling = { input: 5, cachedInput: 4, cacheWrite: 3, cacheWrite1h: 2, output: 1 };
  expect(combineSamplings([sampling])).toBe(sampling);
  const { samplings, ...sum } = combineSamplings([
    { ...sampling, kinds },
    ...Array.from({ length: SAMPLINGS_MAX + 5 }, () => sampling),
  ]);
  expect(sum).toEqual({ input: 350, cachedInput: 280, cacheWrite: 210, cacheWrite1h: 140, output: 70, kinds });
  expect(samplings).toHaveLength(SAMPLINGS_MAX);
  expect(samplings?.reduce((tokens, { input }) => tokens + input, 0)).toBe(sum.input);
});

test('no charge is above the largest amount', () => {
  const usage = usageOf({ input: Number.MAX_SAFE_INTEGER, output: Number.MAX_SAFE_INTEGER });
  expect(rate(usage, FLAT)).toBe(AMOUNT_NANO_USD_MAX);
});

test.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])('rate() refuses a count of %p', (count) => {
  for (const name of ['input', 'cachedInput', 'cacheWrite', 'cacheWrite1h', 'output']) {
    expect(() => rate(usageOf({ input: 10, [name]: count }), FLAT)).toThrow(RangeError);
  }
});

test('more output never costs less', () => {
  fc.assert(
    fc.property(priceFigures, tokenUsage, fc.nat(1_000_000), (price, usage, more) => {
      expect(rate({ ...usage, output: usage.output + more }, price)).toBeGreaterThanOrEqual(rate(usage, price));
    }),
  );
});

test('more input never costs less within a tier', () => {
  fc.assert(
    fc.property(flatPriceFigures, tokenUsage, fc.nat(1_000_000), (price, usage, more) => {
      expect(rate({ ...usage, input: usage.input + more }, price)).toBeGreaterThanOrEqual(rate(usage, price));
    }),
  );
});

test('a higher price never costs less', () => {
  const raise = fc.bigInt(0n, 1_000_000_000n);
  fc.assert(
    fc.property(flatPriceFigures, tokenUsage, raise, raise, raise, (price, usage, input, output, perCall) => {
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

test.each<[string, bigint | null, bigint | undefined, bigint | null]>([
  ['is the reported one', 2_000n, 1_500n, 1_500n],
  ['is the reported one up to 100 times the computed one', 2_000n, 200_000n, 200_000n],
  ['is the computed one above that', 2_000n, 200_001n, 2_000n],
  ['is the computed one where 0 is reported', 2_000n, 0n, 2_000n],
  ['is the computed one where a negative cost is reported', 2_000n, -5n, 2_000n],
  ['is the computed one where nothing is reported', 2_000n, undefined, 2_000n],
  ['stays 0 for a model that costs nothing', 0n, 5n, 0n],
  ['is unknown where nothing bounds the reported one', null, 5n, null],
])('recorded cost %s', (_name, computed, reported, expected) => {
  expect(selectRecordedCost(computed, reported)).toBe(expected);
});

function usageOf(usage: Partial<TokenUsage>): TokenUsage {
  return { input: 0, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 0, ...usage };
}
