import { requireCount } from './counts.js';
import { AMOUNT_NANO_USD_MAX, clampAmount } from './money.js';
import type { NanoUsd } from './money.js';

/** Tokens that a price per token is quoted for. */
export const TOKENS_PER_PRICE = 1_000_000n;

/**
 * Prices in nano-USD per 1,000,000 tokens, at least 0; `null` means the `inputPerMillion` beside
 * it.
 */
export interface TokenPrices {
  inputPerMillion: bigint;
  cachedInputPerMillion: bigint | null;
  cacheWritePerMillion: bigint | null;
  cacheWrite1hPerMillion: bigint | null;
  outputPerMillion: bigint;
}

/**
 * Long-context prices: they apply to the whole call when its input tokens exceed
 * `aboveInputTokens`.
 */
export interface PriceTier extends TokenPrices {
  aboveInputTokens: number;
}

/**
 * One version of a model's price. `perCall` is in nano-USD. The order of `tiers` does not matter.
 */
export interface PriceFigures extends TokenPrices {
  perCall: bigint;
  tiers: readonly PriceTier[];
}

/**
 * What a call used, in safe non-negative integers. `input` is all input, cached and cache writes
 * included. Parts that add up to more than `input` are cut: `cachedInput` first, then `cacheWrite`,
 * then `cacheWrite1h`.
 */
export interface TokenUsage {
  input: number;
  cachedInput: number;
  cacheWrite: number;
  cacheWrite1h: number;
  /** With reasoning tokens. */
  output: number;
}

/**
 * The charge for a usage at a price version (docs/behaviour.md#actual-cost): rounded once, half up,
 * and at most `AMOUNT_NANO_USD_MAX`. It never falls when output tokens or prices rise.
 * @throws RangeError for a count that is not a safe non-negative integer
 */
export function rate(usage: TokenUsage, price: PriceFigures): NanoUsd {
  const input = requireCount(usage.input, 'input');
  const cacheWrite1h = Math.min(requireCount(usage.cacheWrite1h, 'cacheWrite1h'), input);
  const cacheWrite = Math.min(requireCount(usage.cacheWrite, 'cacheWrite'), input - cacheWrite1h);
  const cachedInput = Math.min(requireCount(usage.cachedInput, 'cachedInput'), input - cacheWrite1h - cacheWrite);
  const plainInput = input - cacheWrite1h - cacheWrite - cachedInput;
  const prices = pricesAt(input, price);
  const millionths =
    BigInt(plainInput) * prices.inputPerMillion +
    BigInt(cachedInput) * (prices.cachedInputPerMillion ?? prices.inputPerMillion) +
    BigInt(cacheWrite) * (prices.cacheWritePerMillion ?? prices.inputPerMillion) +
    BigInt(cacheWrite1h) * (prices.cacheWrite1hPerMillion ?? prices.inputPerMillion) +
    BigInt(requireCount(usage.output, 'output')) * prices.outputPerMillion;
  const rounded = (millionths + TOKENS_PER_PRICE / 2n) / TOKENS_PER_PRICE;
  return clampAmount(rounded + price.perCall, 0n, AMOUNT_NANO_USD_MAX);
}

/** All prices that one input token can have, with the fall-back of `null` applied. */
export function inputPrices(prices: TokenPrices): readonly [bigint, ...bigint[]] {
  return [
    prices.inputPerMillion,
    prices.cachedInputPerMillion ?? prices.inputPerMillion,
    prices.cacheWritePerMillion ?? prices.inputPerMillion,
    prices.cacheWrite1hPerMillion ?? prices.inputPerMillion,
  ];
}

/** The prices of the highest tier that the input exceeds, else the base prices. */
function pricesAt(inputTokens: number, price: PriceFigures): TokenPrices {
  let reached: PriceTier | null = null;
  for (const tier of price.tiers) {
    const applies = inputTokens > tier.aboveInputTokens;
    if (applies && (reached === null || tier.aboveInputTokens > reached.aboveInputTokens)) reached = tier;
  }
  return reached ?? price;
}
