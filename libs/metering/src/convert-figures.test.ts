import { expect, test } from '@jest/globals';
import { convertFigures } from './convert-figures.js';

test('each price is converted, tiers keep their order, and what is left out is null', () => {
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
    tiers: [
      { aboveInputTokens: 20, ...converted, cacheWrite1hPerMillion: null },
      { aboveInputTokens: 10, ...converted, cacheWrite1hPerMillion: 9n },
    ],
  });
});
