import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { priceFigures, tokenUsage } from '../test/arbitraries.js';
import { rate } from './price.js';
import type { TokenUsage } from './price.js';
import type { PriceFigures } from './price-extras.js';
import { EXTRA_CLASSES } from './price-extras.js';
import type { ClassPrices, KindPrices, PriceExtras } from './price-extras.js';
import { mapTokenPrices, resolvePrices, withHourWrites } from './resolve-prices.js';

const NONE = { cachedInputPerMillion: null, cacheWritePerMillion: null, cacheWrite1hPerMillion: null };
const NO_KINDS: KindPrices = { audioInput: null, audioOutput: null, imageInput: null, imageOutput: null };
const KINDS: KindPrices = { audioInput: 32_000n, audioOutput: 64_000n, imageInput: null, imageOutput: 40_000n };
/** Prices in thousandths of a USD per million: 1.25 times for a cache write, a tenth for a read. */
const STANDARD: PriceFigures = {
  inputPerMillion: 4_000n,
  cachedInputPerMillion: 400n,
  cacheWritePerMillion: 5_000n,
  cacheWrite1hPerMillion: 8_000n,
  outputPerMillion: 20_000n,
  perCall: 0n,
  tiers: [],
  extras: null,
};
const DOUBLE: ClassPrices = { ...NONE, inputPerMillion: 8_000n, outputPerMillion: 30_000n, tiers: [] };

function pricesOf(changes: Partial<PriceFigures>, classes: PriceExtras['classes'] = {}, kinds = KINDS): PriceFigures {
  return { ...STANDARD, extras: { classes, units: {}, kinds }, ...changes };
}

test('resolvePrices() scales missing prices of a class by its input or output ratio', () => {
  expect(resolvePrices(pricesOf({}, { priority: DOUBLE })).priority).toEqual({
    inputPerMillion: 8_000n,
    cachedInputPerMillion: 800n,
    cacheWritePerMillion: 10_000n,
    cacheWrite1hPerMillion: 16_000n,
    outputPerMillion: 30_000n,
    audioInputPerMillion: 64_000n,
    imageInputPerMillion: 8_000n,
    audioOutputPerMillion: 96_000n,
    imageOutputPerMillion: 60_000n,
    tiers: [],
  });
});

test('resolvePrices() scales missing prices of a tier in the same way and sorts tiers', () => {
  const tier = { ...DOUBLE, aboveInputTokens: 200 };
  const { standard, flex } = resolvePrices(
    pricesOf({ tiers: [tier, { ...tier, aboveInputTokens: 100 }] }, { flex: { ...DOUBLE, tiers: [tier] } }),
  );
  const scaled = { cachedInputPerMillion: 800n, cacheWritePerMillion: 10_000n, cacheWrite1hPerMillion: 16_000n };
  expect(standard.tiers).toMatchObject([
    { ...scaled, audioInputPerMillion: 64_000n, aboveInputTokens: 100 },
    { ...scaled, aboveInputTokens: 200 },
  ]);
  expect(flex?.tiers).toMatchObject([{ ...scaled, aboveInputTokens: 200 }]);
});

test('resolvePrices() takes stated prices, and those of a class for its tiers', () => {
  const own = {
    ...DOUBLE,
    cachedInputPerMillion: 1n,
    cacheWritePerMillion: 0n,
    kinds: { ...NO_KINDS, audioInput: 7n },
  };
  const tier = { ...DOUBLE, inputPerMillion: 16_000n, outputPerMillion: 60_000n, aboveInputTokens: 9 };
  const { fast } = resolvePrices(pricesOf({}, { fast: { ...own, tiers: [tier] } }));
  expect(fast).toMatchObject({ cachedInputPerMillion: 1n, cacheWritePerMillion: 0n, audioInputPerMillion: 7n });
  expect(fast?.tiers).toMatchObject([
    { cachedInputPerMillion: 2n, cacheWritePerMillion: 0n, cacheWrite1hPerMillion: 32_000n, audioInputPerMillion: 14n },
  ]);
});

test.each([
  ['the five-minute price', { cacheWrite1hPerMillion: null }, 5_000n, 10_000n],
  ['input without any write price', { cacheWritePerMillion: null, cacheWrite1hPerMillion: null }, 4_000n, 8_000n],
])('resolvePrices() prices one-hour writes as %s', (_name, changes, standard, priority) => {
  const figures = resolvePrices(pricesOf(changes, { priority: DOUBLE }));
  expect(figures.standard.cacheWrite1hPerMillion).toBe(standard);
  expect(figures.priority?.cacheWrite1hPerMillion).toBe(priority);
});

test("withHourWrites() prices missing hour writes at twice each class's input", () => {
  const tiers = [{ ...DOUBLE, aboveInputTokens: 100 }];
  const given = pricesOf({ cacheWrite1hPerMillion: null, tiers }, { fast: { ...DOUBLE, tiers, kinds: KINDS } });
  const { standard, fast } = resolvePrices(withHourWrites(given));
  expect(standard).toMatchObject({ cacheWrite1hPerMillion: 8_000n, tiers: [{ cacheWrite1hPerMillion: 16_000n }] });
  expect(fast).toMatchObject({ cacheWrite1hPerMillion: 16_000n, tiers: [{ cacheWrite1hPerMillion: 16_000n }] });
  expect(fast?.audioInputPerMillion).toBe(32_000n);
  expect(withHourWrites(STANDARD)).toBe(STANDARD);
});

test.each([
  [3n, 1n, 2n, 2n],
  [1n, 1n, 3n, 0n],
  [2n, 1n, 3n, 1n],
  [7n, 5n, 0n, 7n],
  [3n, 5n, 0n, 5n],
])('a missing price of %s × %s ÷ %s is %s', (cachedInputPerMillion, ofClass, inputPerMillion, expected) => {
  const price = pricesOf({ cachedInputPerMillion, inputPerMillion }, { flex: { ...DOUBLE, inputPerMillion: ofClass } });
  expect(resolvePrices(price).flex?.cachedInputPerMillion).toBe(expected);
});

/** Versions whose stated cache writes cost at least their input, as with all providers. */
const versions = priceFigures.map((price) =>
  mapTokenPrices(price, ({ inputPerMillion, cacheWritePerMillion, cacheWrite1hPerMillion }) => ({
    cacheWritePerMillion: cacheWritePerMillion === null ? null : cacheWritePerMillion + inputPerMillion,
    cacheWrite1hPerMillion: cacheWrite1hPerMillion === null ? null : cacheWrite1hPerMillion + inputPerMillion,
  })),
);

/** Sets the price of each cache write without a price to the input price of its class or tier. */
function withInputForWrites(price: PriceFigures): PriceFigures {
  return mapTokenPrices(price, ({ inputPerMillion, cacheWritePerMillion, cacheWrite1hPerMillion }) => ({
    cacheWritePerMillion: cacheWritePerMillion ?? inputPerMillion,
    cacheWrite1hPerMillion: cacheWrite1hPerMillion ?? inputPerMillion,
  }));
}

test('cache writes never cost less than input if they have no price', () => {
  const writes = tokenUsage.map((usage): TokenUsage => ({ ...usage, cachedInput: 0, kinds: undefined }));
  fc.assert(
    fc.property(versions, writes, fc.constantFrom('standard' as const, ...EXTRA_CLASSES), (price, usage, name) => {
      const served = { class: name, units: {} };
      const before = rate(usage, withInputForWrites(price), served);
      expect(rate(usage, price, served)).toBeGreaterThanOrEqual(before);
      expect(rate(usage, withHourWrites(price), served)).toBeGreaterThanOrEqual(before);
    }),
  );
});
