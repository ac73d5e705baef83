import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  boundFigures as anyFigures,
  callBounds,
  priceFigures,
  served,
  servedWithin,
  usageWithin,
} from '../test/arbitraries.js';
import { AMOUNT_NANO_USD_MAX } from './money.js';
import { rate } from './price.js';
import type { KindPrices, PriceExtras, Served } from './price-extras.js';
import type { PriceFigures } from './price-extras.js';
import { resolvePrices } from './resolve-prices.js';
import {
  BYTES_PER_TOKEN_DEFAULT,
  OUTPUT_TOKENS_DEFAULT,
  boundFigures,
  inputTokensBound,
  leastCost,
  outputTokensMax,
  tokensOfBytes,
  worstCase,
} from './worst-case.js';
import type { BoundFigures, CallBounds, FileBounds, OutputRequest } from './worst-case.js';

const FIGURES: BoundFigures = { bytesPerToken: 3, attachmentTokens: 1000 };
const PRICE: PriceFigures = {
  inputPerMillion: 1_000_000n,
  cachedInputPerMillion: 100_000n,
  cacheWritePerMillion: null,
  cacheWrite1hPerMillion: null,
  outputPerMillion: 5_000_000n,
  perCall: 0n,
  tiers: [],
  extras: null,
};
const TIER = { ...PRICE, aboveInputTokens: 100, inputPerMillion: 2_000_000n, outputPerMillion: 7_000_000n };

test('the defaults are those of the specification', () => {
  expect(OUTPUT_TOKENS_DEFAULT).toBe(8192);
  expect(BYTES_PER_TOKEN_DEFAULT).toBe(3);
});

test.each<[string, Partial<CallBounds>, number, number]>([
  ['nothing', {}, 3, 0],
  ['one byte', { promptBytes: 1 }, 3, 1],
  ['a full token', { promptBytes: 3 }, 3, 1],
  ['one byte more', { promptBytes: 4 }, 3, 2],
  ['half bytes per token', { promptBytes: 5 }, 2.5, 2],
  ['half bytes per token, rounded up', { promptBytes: 6 }, 2.5, 3],
  ['a divisor no double holds', { promptBytes: 3 }, 0.1, 30],
  ['array elements', { arrayElements: 7 }, 3, 7],
  ['attachments', { attachments: 2 }, 3, 2000],
  ['all together', { promptBytes: 10, arrayElements: 7, attachments: 2 }, 3, 2011],
  [
    'too much to count',
    { promptBytes: Number.MAX_SAFE_INTEGER, attachments: Number.MAX_SAFE_INTEGER },
    0.001,
    Number.MAX_SAFE_INTEGER,
  ],
])('input bound of %s', (_name, bounds, bytesPerToken, tokens) => {
  expect(inputTokensBound(boundsOf(bounds), { ...FIGURES, bytesPerToken })).toBe(tokens);
});

const NO_FILES: FileBounds = { documents: 0, documentBytes: 0, audios: 0, audioBytes: 0, videos: 0, videoBytes: 0 };
const UNKNOWN_CONTEXT = 600 * 7_784;
test.each<[string, number, Partial<FileBounds>, number | null, number]>([
  ['a document of an unknown context', 1, { documents: 1 }, null, UNKNOWN_CONTEXT],
  ['two documents of an unknown context', 2, { documents: 2, documentBytes: 9_000_000 }, null, UNKNOWN_CONTEXT],
  ['audio', 1, { audios: 1, audioBytes: 594_000 }, null, 2_000 + 32_000],
  ['video', 1, { videos: 1, videoBytes: 1_200_000 }, null, 2_000 + 300_000],
  ['a document, at most the context', 1, { documents: 1 }, 200_000, 200_000],
  ['two documents, at most the context', 2, { documents: 2, documentBytes: 9_000_000 }, 200_000, 200_000],
  ['images, at most the context', 300, {}, 200_000, 200_000],
  ['an image within the context', 1, {}, 200_000, 1_000],
])('input bound of attachments: %s', (_name, attachments, files, contextLength, tokens) => {
  const bounds = { ...boundsOf({ attachments }), files: { ...NO_FILES, ...files } };
  expect(inputTokensBound(bounds, { ...FIGURES, contextLength })).toBe(tokens);
});

test('text is never limited to the context, which the catalog may have wrong', () => {
  const figures = { ...FIGURES, contextLength: 1_000 };
  expect(inputTokensBound(boundsOf({ promptBytes: 9_000 }), figures)).toBe(3_000);
  expect(inputTokensBound(boundsOf({ promptBytes: 9_000, attachments: 1 }), figures)).toBe(3_000);
});

test("boundFigures() returns the largest figures of the model's sources", () => {
  const model = { bytesPerToken: 2.5, contextLength: 100 };
  const defaults = {
    attachmentTokens: 16_384,
    documentTokens: null,
    audioTokensPerSecond: 32,
    videoTokensPerSecond: 300,
  };
  expect(boundFigures(undefined, [])).toEqual({ bytesPerToken: 3, contextLength: null, ...defaults });
  expect(boundFigures(model, [{}, undefined])).toEqual({ ...model, ...defaults });
  const [small, large] = [
    { imageTokens: 4_784, documentPages: 100, pageTokens: 258, audioTokensPerSecond: 10, videoTokensPerSecond: 70 },
    { imageTokens: 48_169, documentPages: 50, pageTokens: 258, audioTokensPerSecond: 13, videoTokensPerSecond: 312 },
  ];
  expect(boundFigures(model, [small, large])).toEqual({
    ...model,
    attachmentTokens: 48_169,
    documentTokens: 25_800,
    audioTokensPerSecond: 13,
    videoTokensPerSecond: 312,
  });
  expect(boundFigures(model, [small, { pageTokens: 258 }])).toEqual({ ...model, ...defaults });
});

test.each<[string, Partial<FileBounds>, number]>([
  ['a document', { documents: 2 }, 2 * 25_800],
  ['a document of text', { documents: 1, documentBytes: 400_000 }, 25_800 + 100_000],
  ['audio', { audios: 1, audioBytes: 594_000 }, 2_000 + 10_000],
  ['video', { videos: 1, videoBytes: 1_200_000 }, 2_000 + 70_000],
])("input bound of %s with the sources' figures", (_name, files, tokens) => {
  const sizes = { documentPages: 100, pageTokens: 258, audioTokensPerSecond: 10, videoTokensPerSecond: 70 };
  const figures = boundFigures({ bytesPerToken: 3, contextLength: 1_000_000 }, [sizes]);
  const attachments = (files.documents ?? 0) + (files.audios ?? 0) + (files.videos ?? 0);
  expect(inputTokensBound({ ...boundsOf({ attachments }), files: { ...NO_FILES, ...files } }, figures)).toBe(tokens);
});

test('attachments within their maximum are never above the input bound', () => {
  const call = fc.record({
    sizes: fc.record({
      imageTokens: fc.constantFrom(4_784, 16_384, 48_169),
      pageTokens: fc.integer({ min: 1, max: 3_000 }),
    }),
    images: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 20 }),
    pages: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 100 }),
    contextLength: fc.option(fc.integer({ min: 1, max: 2_000_000 })),
  });
  fc.assert(
    fc.property(call, ({ sizes, images, pages, contextLength }) => {
      const figures = boundFigures({ bytesPerToken: 3, contextLength }, [{}, { ...sizes, documentPages: 100 }]);
      const bounds = boundsOf({ promptBytes: 90, attachments: images.length + 1 });
      const files = { ...NO_FILES, documents: 1 };
      const sum = (shares: readonly number[], most: number): number =>
        shares.reduce((tokens, share) => tokens + Math.floor(share * most), 0);
      const counted = 30 + sum(images, sizes.imageTokens) + sum(pages, sizes.pageTokens);
      const taken = contextLength === null ? counted : Math.max(30, Math.min(counted, contextLength));
      expect(inputTokensBound({ ...bounds, files }, figures)).toBeGreaterThanOrEqual(taken);
    }),
  );
});

test.each([0, -3, 0.0001, Number.NaN, Number.POSITIVE_INFINITY])(
  '%p bytes per token throw RangeError',
  (bytesPerToken) => {
    expect(() => inputTokensBound(boundsOf({ promptBytes: 1 }), { ...FIGURES, bytesPerToken })).toThrow(RangeError);
  },
);

test('tokens of a text are its bytes divided exactly, rounded up', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), fc.integer({ min: 1, max: 20_000 }), (bytes, scaled) => {
      const exact = (BigInt(bytes) * 1000n + BigInt(scaled) - 1n) / BigInt(scaled);
      const most = BigInt(Number.MAX_SAFE_INTEGER);
      expect(BigInt(tokensOfBytes(bytes, scaled / 1000))).toBe(exact < most ? exact : most);
    }),
  );
});

test('the worst case uses the highest price that the input reaches in any tier', () => {
  fc.assert(
    fc.property(callBounds, anyFigures, priceFigures, (bounds, figures, given) => {
      const price = { ...given, extras: null };
      const input = inputTokensBound(bounds, figures);
      const { standard } = resolvePrices(price);
      const reached = [standard, ...standard.tiers.filter(({ aboveInputTokens }) => input > aboveInputTokens)];
      const dearest = (prices: bigint[]): bigint => prices.reduce((most, one) => (one > most ? one : most), 0n);
      const inputPrice = dearest(
        reached.flatMap((one) => [
          one.inputPerMillion,
          one.cachedInputPerMillion,
          one.cacheWritePerMillion,
          one.cacheWrite1hPerMillion,
        ]),
      );
      const outputPrice = dearest(reached.map(({ outputPerMillion }) => outputPerMillion));
      const millionths = BigInt(input) * inputPrice + BigInt(bounds.outputTokensMax) * outputPrice;
      const cost = (millionths + 999_999n) / 1_000_000n + price.perCall;
      expect(worstCase(bounds, figures, price)).toBe(cost < AMOUNT_NANO_USD_MAX ? cost : AMOUNT_NANO_USD_MAX);
    }),
  );
});

test.each<[string, OutputRequest, number]>([
  ['no maximum', { prompts: 1, maxTokens: [] }, 8192],
  ['null is unset', { prompts: 1, n: null, bestOf: null, maxTokens: [null, undefined] }, 8192],
  ['a maximum', { prompts: 1, maxTokens: [100] }, 100],
  ['a maximum of 0, which is unset', { prompts: 1, maxTokens: [0] }, 8192],
  ['a maximum beside one of 0', { prompts: 1, maxTokens: [0, 100] }, 100],
  ['a small maximum of another endpoint', { prompts: 1, maxTokens: [], otherMaxTokens: [1, null] }, 8192],
  ['a large maximum of another endpoint', { prompts: 1, maxTokens: [100], otherMaxTokens: [300] }, 300],
  ['the largest of several', { prompts: 1, maxTokens: [100, null, 300, 200] }, 300],
  ['n', { prompts: 1, n: 4, maxTokens: [100] }, 400],
  ['best_of above n', { prompts: 1, n: 2, bestOf: 5, maxTokens: [100] }, 500],
  ['n above best_of', { prompts: 1, n: 3, bestOf: 2, maxTokens: [100] }, 300],
  ['best_of of 0 still answers once', { prompts: 1, bestOf: 0, maxTokens: [100] }, 100],
  ['several prompts without a maximum', { prompts: 3, n: 2, maxTokens: [] }, 49_152],
  ['no output at all', { prompts: 0, maxTokens: [] }, 0],
  ['a fraction counts as the next whole', { prompts: 1, bestOf: 1.5, maxTokens: [10.2] }, 22],
  ['an endless maximum', { prompts: 1, maxTokens: [Number.POSITIVE_INFINITY] }, Number.MAX_SAFE_INTEGER],
  ['a product too large to count', { prompts: 2 ** 20, n: 4, maxTokens: [2 ** 40] }, Number.MAX_SAFE_INTEGER],
  ['no prompts of an endless maximum', { prompts: 0, maxTokens: [Number.POSITIVE_INFINITY] }, 0],
])('output bound of %s', (_name, request, tokens) => {
  expect(outputTokensMax(request)).toBe(tokens);
});

test('a limit that is not a number throws RangeError', () => {
  expect(() => outputTokensMax({ prompts: 1, maxTokens: [Number.NaN] })).toThrow(RangeError);
});

test.each<[string, Partial<CallBounds>, Partial<PriceFigures>, bigint]>([
  ['input and output', { promptBytes: 30, outputTokensMax: 100 }, {}, 10n + 500n],
  ['per call', { promptBytes: 30 }, { perCall: 9n }, 19n],
  ['a more expensive cache write', { promptBytes: 30 }, { cacheWritePerMillion: 1_250_000n }, 13n],
  ['a more expensive 1 h cache write', { promptBytes: 30 }, { cacheWrite1hPerMillion: 2_000_000n }, 20n],
  ['a more expensive cached price', { promptBytes: 30 }, { cachedInputPerMillion: 3_000_000n }, 30n],
  ['a tier that the input bound reaches', { promptBytes: 303, outputTokensMax: 10 }, { tiers: [TIER] }, 202n + 70n],
  ['a tier that it does not reach', { promptBytes: 300, outputTokensMax: 10 }, { tiers: [TIER] }, 100n + 50n],
  ['a cheaper tier leaves the base price', { promptBytes: 303 }, { tiers: [{ ...TIER, inputPerMillion: 1n }] }, 101n],
  ['rounding up', { promptBytes: 1 }, { inputPerMillion: 1n, cachedInputPerMillion: null }, 1n],
  ['audio, which any input may be', { promptBytes: 30 }, { extras: extrasOf({ audioInput: 8_000_000n }) }, 80n],
  ['images, which any output may be', { outputTokensMax: 10 }, { extras: extrasOf({ imageOutput: 9_000_000n }) }, 90n],
  ['a cheaper kind', { outputTokensMax: 10 }, { extras: extrasOf({ audioOutput: 1n }) }, 50n],
])('worst case of %s', (_name, bounds, price, amount) => {
  expect(worstCase(boundsOf(bounds), FIGURES, { ...PRICE, ...price })).toBe(amount);
});

test.each<[string, number, Partial<PriceFigures>, bigint]>([
  ['no prompt', 0, {}, 0n],
  ['cheapest kind', 800, {}, 10n],
  ['rounding down, once', 799, {}, 9n],
  ['fewer bytes than a token', 7, { cachedInputPerMillion: 8_000_000n, inputPerMillion: 8_000_000n }, 7n],
  ['per call', 800, { perCall: 5n }, 15n],
  ['cheapest tier', 800, { tiers: [{ ...TIER, cachedInputPerMillion: 0n }] }, 0n],
])('least cost of %s', (_name, promptBytes, price, amount) => {
  expect(leastCost({ promptBytes }, { ...PRICE, ...price })).toBe(amount);
});

test('no worst case or least cost is above the largest amount', () => {
  const bounds = boundsOf({ promptBytes: Number.MAX_SAFE_INTEGER, outputTokensMax: Number.MAX_SAFE_INTEGER });
  const price = { ...PRICE, inputPerMillion: 10n ** 12n, cachedInputPerMillion: null };
  expect(worstCase(bounds, FIGURES, price)).toBe(AMOUNT_NANO_USD_MAX);
  expect(leastCost(bounds, price)).toBe(AMOUNT_NANO_USD_MAX);
});

test.each<[string, Served, bigint]>([
  ['nothing else', { class: 'standard', units: {} }, 510n],
  ['a more expensive class', { class: 'priority', units: {} }, 20n + 1_000n],
  ['a cheaper class, which the provider may not serve', { class: 'flex', units: {} }, 510n],
  ['a class without a price', { class: 'fast', units: {} }, 510n],
  ['tools, by use', { class: 'standard', units: { web_search: 3, other: 9 } }, 510n + 30n],
])('worst case of a request for %s', (_name, asked, amount) => {
  const doubled = { ...PRICE, inputPerMillion: 2_000_000n, outputPerMillion: 10_000_000n };
  const halved = { ...PRICE, inputPerMillion: 500_000n, outputPerMillion: 2_500_000n };
  const extras = { ...extrasOf({}), classes: { priority: doubled, flex: halved }, units: { web_search: 10n } };
  expect(worstCase(boundsOf({ promptBytes: 30, outputTokensMax: 100 }), FIGURES, { ...PRICE, extras }, asked)).toBe(
    amount,
  );
});

test('the least cost uses the cheapest price, also of the requested class', () => {
  const extras = { ...extrasOf({}), classes: { flex: { ...PRICE, inputPerMillion: 50_000n } } };
  const price = { ...PRICE, cachedInputPerMillion: null, extras };
  expect(leastCost({ promptBytes: 8_000 }, price)).toBe(1_000n);
  expect(leastCost({ promptBytes: 8_000 }, price, { class: 'flex', units: {} })).toBe(50n);
});

test('a usage within the bounds never costs more than the worst case', () => {
  const call = fc.tuple(callBounds, anyFigures, served).chain(([bounds, figures, asked]) =>
    fc.record({
      bounds: fc.constant(bounds),
      figures: fc.constant(figures),
      asked: fc.constant(asked),
      usage: usageWithin(inputTokensBound(bounds, figures), bounds.outputTokensMax),
      answered: servedWithin(asked),
    }),
  );
  fc.assert(
    fc.property(call, priceFigures, ({ bounds, figures, asked, usage, answered }, price) => {
      expect(rate(usage, price, answered)).toBeLessThanOrEqual(worstCase(bounds, figures, price, asked));
    }),
    { numRuns: 1000 },
  );
});

test('the least cost is never above the worst case', () => {
  fc.assert(
    fc.property(callBounds, anyFigures, priceFigures, served, (bounds, figures, price, asked) => {
      expect(leastCost(bounds, price, asked)).toBeLessThanOrEqual(worstCase(bounds, figures, price, asked));
    }),
  );
});

function boundsOf(bounds: Partial<CallBounds>): CallBounds {
  return { promptBytes: 0, arrayElements: 0, attachments: 0, outputTokensMax: 0, ...bounds };
}

function extrasOf(kinds: Partial<KindPrices>): PriceExtras {
  const none = { audioInput: null, audioOutput: null, imageInput: null, imageOutput: null };
  return { classes: {}, units: {}, kinds: { ...none, ...kinds } };
}
