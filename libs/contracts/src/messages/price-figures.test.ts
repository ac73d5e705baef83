import { expect, test } from '@jest/globals';
import { figuresFromWire, toPriceFigures } from './price-figures.js';

const PRICES = {
  inputPerMillion: 1,
  cachedInputPerMillion: null,
  cacheWritePerMillion: 2,
  cacheWrite1hPerMillion: 3,
  outputPerMillion: 9_000_000_000_000_000,
};
const FIGURES = { ...PRICES, perCall: 4, tiers: [{ aboveInputTokens: 5, ...PRICES }] };

test('figuresFromWire() keeps all digits and null', () => {
  const expected = {
    inputPerMillion: 1n,
    cachedInputPerMillion: null,
    cacheWritePerMillion: 2n,
    cacheWrite1hPerMillion: 3n,
    outputPerMillion: 9_000_000_000_000_000n,
  };
  expect(figuresFromWire(FIGURES)).toEqual({
    ...expected,
    perCall: 4n,
    tiers: [{ aboveInputTokens: 5, ...expected }],
    extras: null,
  });
});

test('figuresOfVersion() converts a version once, and again when its figures change', () => {
  const tier = { ...PRICES, aboveInputTokens: 5 };
  const extras = {
    classes: { flex: { ...PRICES, tiers: [] } },
    units: { web_search: 7 },
    kinds: { audioInput: 1, audioOutput: null, imageInput: null, imageOutput: null },
  };
  const withExtras = { ...FIGURES, extras };
  const converted = toPriceFigures({ version: 'w', figures: withExtras });
  expect(toPriceFigures({ version: 'w', figures: structuredClone(withExtras) })).toBe(converted);
  const first = toPriceFigures({ version: 'v', figures: FIGURES });
  expect(toPriceFigures({ version: 'v', figures: structuredClone(FIGURES) })).toBe(first);
  const others = [
    { ...FIGURES, perCall: 5 },
    { ...FIGURES, inputPerMillion: 2 },
    { ...FIGURES, cachedInputPerMillion: 1 },
    { ...FIGURES, cacheWritePerMillion: null },
    { ...FIGURES, cacheWrite1hPerMillion: null },
    { ...FIGURES, outputPerMillion: 1 },
    { ...FIGURES, tiers: [] },
    { ...FIGURES, tiers: [tier, tier] },
    { ...FIGURES, tiers: [{ ...tier, aboveInputTokens: 6 }] },
    { ...FIGURES, tiers: [{ ...tier, outputPerMillion: 6 }] },
    withExtras,
  ];
  for (const figures of others) {
    expect(toPriceFigures({ version: 'v', figures: FIGURES })).toEqual(first);
    expect(toPriceFigures({ version: 'v', figures })).toEqual(figuresFromWire(figures));
  }
});
