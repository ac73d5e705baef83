import fc from 'fast-check';
import { combineSamplings, EXTRA_CLASSES } from '../src/index.js';
import type {
  BoundFigures,
  CallBounds,
  ExtraClassPrices,
  KindPrices,
  PriceExtras,
  PriceFigures,
  Served,
  TokenKinds,
  TokenPrices,
  TokenUsage,
} from '../src/index.js';

/** Up to 1 USD per 1,000 tokens, far above market prices. */
const PRICE_MAX = 1_000_000_000_000n;
const TOKENS_MAX = 5_000_000;

const pricePerMillion = fc.oneof(fc.constant(0n), fc.bigInt(0n, 100n), fc.bigInt(0n, PRICE_MAX));
const optionalPrice = fc.option(pricePerMillion);
const tokens = fc.oneof(fc.nat(20), fc.nat(TOKENS_MAX));

const tokenPrices: fc.Arbitrary<TokenPrices> = fc.record({
  inputPerMillion: pricePerMillion,
  cachedInputPerMillion: optionalPrice,
  cacheWritePerMillion: optionalPrice,
  cacheWrite1hPerMillion: optionalPrice,
  outputPerMillion: pricePerMillion,
});

const tier = fc.tuple(tokenPrices, tokens).map(([prices, aboveInputTokens]) => ({ ...prices, aboveInputTokens }));

const UNITS = ['web_search', 'code_session', 'unknown'] as const;
const tiers = fc.array(tier, { maxLength: 3 });
const classPrices = fc.tuple(tokenPrices, tiers).map(([prices, some]) => ({ ...prices, tiers: some }));

const kindPrices: fc.Arbitrary<KindPrices> = fc.record({
  audioInput: optionalPrice,
  audioOutput: optionalPrice,
  imageInput: optionalPrice,
  imageOutput: optionalPrice,
});
const extraClass: fc.Arbitrary<ExtraClassPrices> = fc
  .tuple(classPrices, fc.option(kindPrices, { nil: undefined }))
  .map(([prices, kinds]) => ({ ...prices, kinds }));

/** The unit `unknown` never has a price. */
const priceExtras: fc.Arbitrary<PriceExtras> = fc.record({
  classes: fc.record({ priority: extraClass, flex: extraClass, fast: extraClass }, { requiredKeys: [] }),
  units: fc.record({ web_search: pricePerMillion, code_session: pricePerMillion }, { requiredKeys: [] }).map(defined),
  kinds: kindPrices,
});

function defined(units: Partial<Record<string, bigint>>): Record<string, bigint> {
  return units as Record<string, bigint>;
}

export const priceFigures: fc.Arbitrary<PriceFigures> = fc
  .tuple(tokenPrices, fc.bigInt(0n, PRICE_MAX), tiers, fc.option(priceExtras))
  .map(([prices, perCall, some, extras]) => ({ ...prices, perCall, tiers: some, extras }));

/** The possible requests of a call. */
export const served: fc.Arbitrary<Served> = fc.record({
  class: fc.constantFrom('standard' as const, ...EXTRA_CLASSES),
  units: fc.dictionary(fc.constantFrom(...UNITS), fc.nat(1_000)),
});

/**
 * The class and uses that a response may report for a request: also the standard class and fewer
 * uses.
 */
export function servedWithin(asked: Served): fc.Arbitrary<Served> {
  return fc.record({
    class: fc.constantFrom('standard' as const, asked.class),
    units: fc.record(Object.fromEntries(Object.entries(asked.units).map(([unit, uses]) => [unit, fc.nat(uses)]))),
  });
}

/** All sizes: values above the token counts are reduced. */
export const tokenKinds: fc.Arbitrary<TokenKinds | undefined> = fc.option(
  fc.record({ audioInput: tokens, imageInput: tokens, audioOutput: tokens, imageOutput: tokens }),
  { nil: undefined },
);

export const tokenUsage: fc.Arbitrary<TokenUsage> = fc.record({
  input: tokens,
  cachedInput: tokens,
  cacheWrite: tokens,
  cacheWrite1h: tokens,
  output: tokens,
  kinds: tokenKinds,
});

export const callBounds: fc.Arbitrary<CallBounds> = fc.record({
  promptBytes: fc.oneof(fc.nat(50), fc.nat(10_485_760)),
  arrayElements: fc.nat(10_000),
  attachments: fc.nat(20),
  outputTokensMax: tokens,
  files: fc.option(
    fc.record({
      documents: fc.nat(5),
      documentBytes: fc.nat(10_485_760),
      audios: fc.nat(5),
      audioBytes: fc.nat(10_485_760),
      videos: fc.nat(5),
      videoBytes: fc.nat(10_485_760),
    }),
    { nil: undefined },
  ),
});

export const boundFigures: fc.Arbitrary<BoundFigures> = fc.record({
  bytesPerToken: fc.integer({ min: 500, max: 8000 }).map((thousandths) => thousandths / 1000),
  attachmentTokens: fc.nat(5000),
  contextLength: fc.option(fc.oneof(fc.nat(1_000), fc.nat(1_000_000))),
});

/** A usage within an input and an output bound. Its cached parts may exceed its input. */
export function usageWithin(inputBound: number, outputBound: number): fc.Arbitrary<TokenUsage> {
  const input = fc.oneof(fc.constant(inputBound), fc.nat(inputBound));
  const whole = fc.record({
    input,
    cachedInput: input,
    cacheWrite: input,
    cacheWrite1h: input,
    output: fc.oneof(fc.constant(outputBound), fc.nat(outputBound)),
    kinds: tokenKinds,
  });
  return fc.oneof(
    whole,
    fc.tuple(whole, fc.double({ min: 0, max: 1, noNaN: true })).map(([counts, share]) => {
      const [first, second] = [{ ...counts }, { ...counts }];
      first.input = Math.floor(counts.input * share);
      first.output = Math.floor(counts.output * share);
      second.input = counts.input - first.input;
      second.output = counts.output - first.output;
      return combineSamplings([first, second]);
    }),
  );
}

/** Price versions without tiers and extras. */
export const flatPriceFigures = priceFigures.map((price): PriceFigures => ({ ...price, tiers: [], extras: null }));
