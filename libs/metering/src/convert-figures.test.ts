import { expect, test } from '@jest/globals';
import { convertFigures } from './convert-figures.js';

test('each price is converted, tiers keep their order, and absent prices are null', () => {
  const tier = { inputPerMillion: 6, cachedInputPerMillion: null, cacheWritePerMillion: 7, outputPerMillion: 8 };
  const figures = {
    inputPerMillion: 1,
    cachedInputPerMillion: 2,
    cacheWritePerMillion: null,
    outputPerMillion: 4,
    perCall: 5,
    tiers: [
      { aboveInputTokens: 20, ...tier },
      { aboveInputTokens: 10, ...tier, cacheWrite1hPerMillion: 9 },
    ],
  };
  const converted = {
    inputPerMillion: 6n,
    cachedInputPerMillion: null,
    cacheWritePerMillion: 7n,
    outputPerMillion: 8n,
  };
  expect(convertFigures(figures, BigInt)).toEqual({
    inputPerMillion: 1n,
    cachedInputPerMillion: 2n,
    cacheWritePerMillion: null,
    outputPerMillion: 4n,
    perCall: 5n,
    cacheWrite1hPerMillion: null,
    extras: null,
    tiers: [
      { aboveInputTokens: 20, ...converted, cacheWrite1hPerMillion: null },
      { aboveInputTokens: 10, ...converted, cacheWrite1hPerMillion: 9n },
    ],
  });
});

test('the prices of classes, units and kinds are converted', () => {
  const kinds = { audioInput: 1, audioOutput: null, imageInput: 0, imageOutput: null };
  const prices = { inputPerMillion: 1, outputPerMillion: 2 };
  const flex = { ...prices, tiers: [{ aboveInputTokens: 3, ...prices }] };
  const extras = { classes: { flex }, units: { web_search: 4 }, kinds };
  const rest = { cachedInputPerMillion: null, cacheWritePerMillion: null, cacheWrite1hPerMillion: null };
  const converted = { inputPerMillion: 1n, outputPerMillion: 2n, ...rest };
  expect(convertFigures({ ...prices, perCall: 0, tiers: [], extras }, BigInt).extras).toEqual({
    classes: { flex: { ...converted, tiers: [{ aboveInputTokens: 3, ...converted }] } },
    units: { web_search: 4n },
    kinds: { audioInput: 1n, audioOutput: null, imageInput: 0n, imageOutput: null },
  });
});
