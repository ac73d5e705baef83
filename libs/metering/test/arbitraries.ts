import fc from 'fast-check';
import type { BoundFigures, CallBounds, PriceFigures, TokenPrices, TokenUsage } from '../src/index.js';

/** Up to 1 USD per 1,000 tokens, far above any price of the market. */
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

export const priceFigures: fc.Arbitrary<PriceFigures> = fc
  .tuple(tokenPrices, fc.bigInt(0n, PRICE_MAX), fc.array(tier, { maxLength: 3 }))
  .map(([prices, perCall, tiers]) => ({ ...prices, perCall, tiers }));

export const tokenUsage: fc.Arbitrary<TokenUsage> = fc.record({
  input: tokens,
  cachedInput: tokens,
  cacheWrite: tokens,
  cacheWrite1h: tokens,
  output: tokens,
});

export const callBounds: fc.Arbitrary<CallBounds> = fc.record({
  promptBytes: fc.oneof(fc.nat(50), fc.nat(10_485_760)),
  arrayElements: fc.nat(10_000),
  attachments: fc.nat(20),
  outputTokensMax: tokens,
});

export const boundFigures: fc.Arbitrary<BoundFigures> = fc.record({
  bytesPerToken: fc.integer({ min: 500, max: 8000 }).map((thousandths) => thousandths / 1000),
  attachmentTokens: fc.nat(5000),
});

/**
 * A usage that stays within an input and an output bound; its cached parts may exceed its input.
 */
export function usageWithin(inputBound: number, outputBound: number): fc.Arbitrary<TokenUsage> {
  const input = fc.oneof(fc.constant(inputBound), fc.nat(inputBound));
  return fc.record({
    input,
    cachedInput: input,
    cacheWrite: input,
    cacheWrite1h: input,
    output: fc.oneof(fc.constant(outputBound), fc.nat(outputBound)),
  });
}

/** The same price version without tiers. */
export const flatPriceFigures = priceFigures.map((price): PriceFigures => ({ ...price, tiers: [] }));
