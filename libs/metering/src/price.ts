import { requireCount } from './counts.js';
import { AMOUNT_NANO_USD_MAX, clampAmount } from './money.js';
import type { NanoUsd } from './money.js';
import { classPrices, STANDARD, unitPrice } from './price-extras.js';
import type { ClassPrices, PriceExtras, Served, TokenPrices } from './price-extras.js';

/** Tokens that a price per token is quoted for. */
export const TOKENS_PER_PRICE = 1_000_000n;

/**
 * One version of a model's price. `perCall` is in nano-USD. The order of `tiers` does not matter.
 */
export interface PriceFigures extends ClassPrices {
  perCall: bigint;
  /** Null: one class, nothing by the piece, and tokens of all kinds cost the same. */
  extras: PriceExtras | null;
}

/**
 * Tokens that are no text, in safe non-negative integers. `audioInput` and `imageInput` are parts
 * of the input that neither came from a cache nor went into it, the others are parts of the output.
 * What does not fit there is cut, images first.
 */
export interface TokenKinds {
  audioInput: number;
  imageInput: number;
  audioOutput: number;
  imageOutput: number;
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
  /** Absent: all of them are text. */
  kinds?: TokenKinds | undefined;
}

/**
 * The charge for a usage at a price version (docs/behaviour.md#actual-cost): rounded once, half up,
 * and at most `AMOUNT_NANO_USD_MAX`. It never falls when output tokens or prices rise. A class
 * without a price is charged as standard, a unit without one costs nothing.
 * @param served absent: the standard class, nothing by the piece
 * @throws RangeError for a count that is not a safe non-negative integer
 */
export function rate(usage: TokenUsage, price: PriceFigures, served: Served = STANDARD): NanoUsd {
  const input = requireCount(usage.input, 'input');
  const output = requireCount(usage.output, 'output');
  const cacheWrite1h = Math.min(requireCount(usage.cacheWrite1h, 'cacheWrite1h'), input);
  const cacheWrite = Math.min(requireCount(usage.cacheWrite, 'cacheWrite'), input - cacheWrite1h);
  const cachedInput = Math.min(requireCount(usage.cachedInput, 'cachedInput'), input - cacheWrite1h - cacheWrite);
  const plainInput = input - cacheWrite1h - cacheWrite - cachedInput;
  const prices = pricesAt(input, classPrices(served.class, price.extras) ?? price);
  let millionths =
    BigInt(plainInput) * prices.inputPerMillion +
    BigInt(cachedInput) * (prices.cachedInputPerMillion ?? prices.inputPerMillion) +
    BigInt(cacheWrite) * (prices.cacheWritePerMillion ?? prices.inputPerMillion) +
    BigInt(cacheWrite1h) * (prices.cacheWrite1hPerMillion ?? prices.inputPerMillion) +
    BigInt(output) * prices.outputPerMillion;
  if (usage.kinds !== undefined) millionths += ofKinds(usage.kinds, plainInput, output, prices, price.extras);
  const rounded = (millionths + TOKENS_PER_PRICE / 2n) / TOKENS_PER_PRICE;
  return clampAmount(rounded + price.perCall + ofUnits(served, price.extras), 0n, AMOUNT_NANO_USD_MAX);
}

/** What tokens of other kinds cost more, or less, than as text, in millionths. */
function ofKinds(
  kinds: TokenKinds,
  plainInput: number,
  output: number,
  prices: TokenPrices,
  extras: PriceExtras | null,
): bigint {
  const audioInput = Math.min(requireCount(kinds.audioInput, 'audioInput'), plainInput);
  const imageInput = Math.min(requireCount(kinds.imageInput, 'imageInput'), plainInput - audioInput);
  const audioOutput = Math.min(requireCount(kinds.audioOutput, 'audioOutput'), output);
  const imageOutput = Math.min(requireCount(kinds.imageOutput, 'imageOutput'), output - audioOutput);
  if (extras === null) return 0n;
  const beside = (tokens: number, price: bigint | null, text: bigint): bigint =>
    price === null ? 0n : BigInt(tokens) * (price - text);
  return (
    beside(audioInput, extras.kinds.audioInput, prices.inputPerMillion) +
    beside(imageInput, extras.kinds.imageInput, prices.inputPerMillion) +
    beside(audioOutput, extras.kinds.audioOutput, prices.outputPerMillion) +
    beside(imageOutput, extras.kinds.imageOutput, prices.outputPerMillion)
  );
}

/** What is used by the piece, in nano-USD. */
export function ofUnits({ units }: Served, extras: PriceExtras | null): bigint {
  let sum = 0n;
  for (const [unit, uses] of Object.entries(units)) {
    sum += BigInt(requireCount(uses, unit)) * (unitPrice(unit, extras) ?? 0n);
  }
  return sum;
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
function pricesAt(inputTokens: number, price: ClassPrices): TokenPrices {
  let reached: ClassPrices['tiers'][number] | null = null;
  for (const tier of price.tiers) {
    const applies = inputTokens > tier.aboveInputTokens;
    if (applies && (reached === null || tier.aboveInputTokens > reached.aboveInputTokens)) reached = tier;
  }
  return reached ?? price;
}
