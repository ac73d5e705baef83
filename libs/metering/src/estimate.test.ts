import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { boundFigures, callBounds, priceFigures } from '../test/arbitraries.js';
import { estimateUsage } from './estimate.js';
import { rate } from './price.js';
import { worstCase } from './worst-case.js';

const BOUNDS = { promptBytes: 10, arrayElements: 1, attachments: 1, outputTokensMax: 50 };
const FIGURES = { bytesPerToken: 3, attachmentTokens: 1000 };

test.each([
  [0, 0],
  [1, 1],
  [30, 10],
  [31, 11],
  [150, 50],
  [1_000_000, 50],
])('%i delivered bytes are estimated as %i output tokens', (bytes, output) => {
  expect(estimateUsage(BOUNDS, FIGURES, bytes)).toEqual({
    input: 1005,
    cachedInput: 0,
    cacheWrite: 0,
    cacheWrite1h: 0,
    output,
  });
});

test('a document is estimated with a typical size, not with the maximum', () => {
  const files = { documents: 1, documentBytes: 5_000_000, audios: 0, audioBytes: 0, videos: 0, videoBytes: 0 };
  expect(estimateUsage({ ...BOUNDS, files }, FIGURES, 0).input).toBe(4 + 1 + 2_000);
  expect(estimateUsage({ ...BOUNDS, files }, { ...FIGURES, contextLength: 500 }, 0).input).toBe(500);
});

test('embeddings are estimated without output', () => {
  expect(estimateUsage({ ...BOUNDS, outputTokensMax: 0 }, FIGURES, 5000).output).toBe(0);
});

test.each([-1, 1.5, Number.NaN])('estimateUsage() refuses %p delivered bytes', (bytes) => {
  expect(() => estimateUsage(BOUNDS, FIGURES, bytes)).toThrow(RangeError);
});

test('an estimate never costs more than the worst case', () => {
  fc.assert(
    fc.property(callBounds, boundFigures, priceFigures, fc.nat(100_000_000), (bounds, figures, price, delivered) => {
      const amount = rate(estimateUsage(bounds, figures, delivered), price);
      expect(amount).toBeLessThanOrEqual(worstCase(bounds, figures, price));
    }),
  );
});
