import { requireCount, saturate } from './counts.js';
import { AMOUNT_NANO_USD_MAX, clampAmount } from './money.js';
import type { NanoUsd } from './money.js';
import { STANDARD, unitPrice } from './price-extras.js';
import type { PriceExtras, PriceFigures, Served } from './price-extras.js';
import { resolveClass } from './resolve-prices.js';
import type { ResolvedClass, ResolvedPrices } from './resolve-prices.js';

/** Tokens that a price per token is quoted for. */
export const TOKENS_PER_PRICE = 1_000_000n;

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
 * Tokens of one sampling, in safe non-negative integers. `input` is all input, cached and cache
 * writes included. Parts that add up to more than `input` are cut: `cachedInput` first, then
 * `cacheWrite`, then `cacheWrite1h`.
 */
export interface TokenCounts {
  input: number;
  cachedInput: number;
  cacheWrite: number;
  cacheWrite1h: number;
  /** With reasoning tokens. */
  output: number;
  /** Absent: all of them are text. */
  kinds?: TokenKinds | undefined;
}

/** Samplings of one answer that are kept apart. */
export const SAMPLINGS_MAX = 64;

/** What a call used. */
export interface TokenUsage extends TokenCounts {
  /**
   * The samplings of an answer that has several, at most {@link SAMPLINGS_MAX}: the input of each
   * decides its tier. The counts of the whole are their sums. Absent: one sampling.
   */
  samplings?: TokenCounts[] | undefined;
}

/**
 * The usage of an answer that consists of several samplings. Samplings after the first
 * {@link SAMPLINGS_MAX} - 1 count as one. One sampling is returned as it is. Sums are at most
 * `Number.MAX_SAFE_INTEGER`.
 */
export function combineSamplings(samplings: readonly [TokenCounts, ...TokenCounts[]]): TokenUsage {
  const [first, ...others] = samplings;
  if (others.length === 0) return first;
  const kept = samplings.slice(0, SAMPLINGS_MAX - 1);
  const [next, ...rest] = samplings.slice(SAMPLINGS_MAX - 1);
  return { ...others.reduce(addCounts, first), samplings: next ? [...kept, rest.reduce(addCounts, next)] : kept };
}

function addCounts(one: TokenCounts, other: TokenCounts): TokenCounts {
  const counts = {
    input: saturate(one.input + other.input),
    cachedInput: saturate(one.cachedInput + other.cachedInput),
    cacheWrite: saturate(one.cacheWrite + other.cacheWrite),
    cacheWrite1h: saturate(one.cacheWrite1h + other.cacheWrite1h),
    output: saturate(one.output + other.output),
  };
  if (one.kinds === undefined && other.kinds === undefined) return counts;
  const sum = (kind: keyof TokenKinds): number => saturate((one.kinds?.[kind] ?? 0) + (other.kinds?.[kind] ?? 0));
  const kinds = {
    audioInput: sum('audioInput'),
    imageInput: sum('imageInput'),
    audioOutput: sum('audioOutput'),
    imageOutput: sum('imageOutput'),
  };
  return { ...counts, kinds };
}

/**
 * The charge for a usage at a price version (docs/behaviour.md#actual-cost): rounded once, half up,
 * and at most `AMOUNT_NANO_USD_MAX`. It never falls when output tokens rise. The input of
 * each sampling decides the tier of its tokens. A class without a price is charged as standard, a
 * unit without one costs nothing.
 * @param served absent: the standard class, nothing by the piece
 * @throws RangeError for a count that is not a safe non-negative integer
 */
export function rate(usage: TokenUsage, price: PriceFigures, served: Served = STANDARD): NanoUsd {
  const ofClass = resolveClass(price, served.class);
  let millionths = 0n;
  if (usage.samplings === undefined) millionths = rateCounts(usage, ofClass);
  else for (const counts of usage.samplings) millionths += rateCounts(counts, ofClass);
  const rounded = (millionths + TOKENS_PER_PRICE / 2n) / TOKENS_PER_PRICE;
  return clampAmount(rounded + price.perCall + ofUnits(served, price.extras), 0n, AMOUNT_NANO_USD_MAX);
}

/** What the tokens of one sampling cost, in millionths of a nano-USD. */
function rateCounts(usage: TokenCounts, ofClass: ResolvedClass): bigint {
  const input = requireCount(usage.input, 'input');
  const output = requireCount(usage.output, 'output');
  const cacheWrite1h = Math.min(requireCount(usage.cacheWrite1h, 'cacheWrite1h'), input);
  const cacheWrite = Math.min(requireCount(usage.cacheWrite, 'cacheWrite'), input - cacheWrite1h);
  const cachedInput = Math.min(requireCount(usage.cachedInput, 'cachedInput'), input - cacheWrite1h - cacheWrite);
  const plainInput = input - cacheWrite1h - cacheWrite - cachedInput;
  const prices = pricesAt(input, ofClass);
  const millionths =
    BigInt(plainInput) * prices.inputPerMillion +
    BigInt(cachedInput) * prices.cachedInputPerMillion +
    BigInt(cacheWrite) * prices.cacheWritePerMillion +
    BigInt(cacheWrite1h) * prices.cacheWrite1hPerMillion +
    BigInt(output) * prices.outputPerMillion;
  return usage.kinds === undefined ? millionths : millionths + ofKinds(usage.kinds, plainInput, output, prices);
}

/** What tokens of other kinds cost more, or less, than as text, in millionths. */
function ofKinds(kinds: TokenKinds, plainInput: number, output: number, prices: ResolvedPrices): bigint {
  const audioInput = Math.min(requireCount(kinds.audioInput, 'audioInput'), plainInput);
  const imageInput = Math.min(requireCount(kinds.imageInput, 'imageInput'), plainInput - audioInput);
  const audioOutput = Math.min(requireCount(kinds.audioOutput, 'audioOutput'), output);
  const imageOutput = Math.min(requireCount(kinds.imageOutput, 'imageOutput'), output - audioOutput);
  return (
    BigInt(audioInput) * (prices.audioInputPerMillion - prices.inputPerMillion) +
    BigInt(imageInput) * (prices.imageInputPerMillion - prices.inputPerMillion) +
    BigInt(audioOutput) * (prices.audioOutputPerMillion - prices.outputPerMillion) +
    BigInt(imageOutput) * (prices.imageOutputPerMillion - prices.outputPerMillion)
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

/** The prices of the highest tier that the input exceeds, else the base prices. */
function pricesAt(inputTokens: number, ofClass: ResolvedClass): ResolvedPrices {
  return ofClass.tiers.findLast((tier) => inputTokens > tier.aboveInputTokens) ?? ofClass;
}

/** A reported cost above this multiple of the computed one is a fault of the report. */
const REPORTED_COST_FACTOR_MAX = 100n;

/**
 * Returns what an attempt cost: the provider's own figure if it is above 0 and at most
 * {@link REPORTED_COST_FACTOR_MAX} times the computed cost, else the computed cost.
 * @param computed from usage and cost version; null: one of them is not known
 * @param reported absent: the response reports none
 */
export function recordedCost(computed: NanoUsd | null, reported: NanoUsd | undefined): NanoUsd | null {
  if (computed === null || reported === undefined || reported <= 0n) return computed;
  return reported <= computed * REPORTED_COST_FACTOR_MAX ? reported : computed;
}
