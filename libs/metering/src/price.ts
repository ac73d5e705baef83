import { requireCount, saturate } from './counts.js';
import { AMOUNT_NANO_USD_MAX, clampAmount } from './money.js';
import type { NanoUsd } from './money.js';
import { STANDARD_SERVICE, unitPrice } from './price-extras.js';
import type { PriceExtras, PriceFigures, Served } from './price-extras.js';
import { resolveClass } from './resolve-prices.js';
import type { ResolvedClass, ResolvedPrices } from './resolve-prices.js';

/** Number of tokens that a token price refers to. */
export const TOKENS_PER_PRICE = 1_000_000n;

/**
 * Tokens other than text, as safe non-negative integers. `audioInput` and `imageInput` are parts of
 * the uncached input, the others are parts of the output. If they exceed these, they are reduced,
 * images first.
 */
export interface TokenKinds {
  audioInput: number;
  imageInput: number;
  audioOutput: number;
  imageOutput: number;
}

/**
 * Token counts of one sampling (one run of the model; a response can have several), as safe
 * non-negative integers. `input` includes cached input and cache writes. If these parts exceed
 * `input`, they are reduced: `cachedInput` first, then `cacheWrite`, then `cacheWrite1h`.
 */
export interface TokenCounts {
  input: number;
  cachedInput: number;
  cacheWrite: number;
  cacheWrite1h: number;
  /** Includes reasoning tokens. */
  output: number;
  /** Absent: all tokens are text. */
  kinds?: TokenKinds | undefined;
}

/** Maximum number of samplings per response that are priced separately. */
export const SAMPLINGS_MAX = 64;

export interface TokenUsage extends TokenCounts {
  /**
   * The samplings of a response with several, at most {@link SAMPLINGS_MAX}. The input of each
   * determines its tier. The counts of the usage are their sums. Absent: one sampling.
   */
  samplings?: TokenCounts[] | undefined;
}

/**
 * Combines the samplings of one response into its usage. Samplings after the first {@link
 * SAMPLINGS_MAX} - 1 count as one. A single sampling is returned unchanged. Sums are at most
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
 * Computes the charge for a usage at a price version (docs/behaviour.md#actual-cost): rounded once,
 * half up, at most `AMOUNT_NANO_USD_MAX`. More output tokens never reduce it. The input of each
 * sampling determines its tier. A class without a price is charged as standard; a unit without a
 * price costs nothing.
 * @param served absent: the standard class without units
 * @throws RangeError for a count that is not a safe non-negative integer
 */
export function rate(usage: TokenUsage, price: PriceFigures, served: Served = STANDARD_SERVICE): NanoUsd {
  const ofClass = resolveClass(price, served.class);
  let millionths = 0n;
  if (usage.samplings === undefined) millionths = rateCounts(usage, ofClass);
  else for (const counts of usage.samplings) millionths += rateCounts(counts, ofClass);
  const rounded = (millionths + TOKENS_PER_PRICE / 2n) / TOKENS_PER_PRICE;
  return clampAmount(rounded + price.perCall + computeUnitCosts(served, price.extras), 0n, AMOUNT_NANO_USD_MAX);
}

/** Computes the cost of one sampling's tokens in millionths of a nano-USD. */
function rateCounts(usage: TokenCounts, ofClass: ResolvedClass): bigint {
  const input = requireCount(usage.input, 'input');
  const output = requireCount(usage.output, 'output');
  const cacheWrite1h = Math.min(requireCount(usage.cacheWrite1h, 'cacheWrite1h'), input);
  const cacheWrite = Math.min(requireCount(usage.cacheWrite, 'cacheWrite'), input - cacheWrite1h);
  const cachedInput = Math.min(requireCount(usage.cachedInput, 'cachedInput'), input - cacheWrite1h - cacheWrite);
  const plainInput = input - cacheWrite1h - cacheWrite - cachedInput;
  const prices = selectPrices(input, ofClass);
  const millionths =
    BigInt(plainInput) * prices.inputPerMillion +
    BigInt(cachedInput) * prices.cachedInputPerMillion +
    BigInt(cacheWrite) * prices.cacheWritePerMillion +
    BigInt(cacheWrite1h) * prices.cacheWrite1hPerMillion +
    BigInt(output) * prices.outputPerMillion;
  return usage.kinds === undefined
    ? millionths
    : millionths + computeKindDifference(usage.kinds, plainInput, output, prices);
}

/** Computes the difference between the prices of other token kinds and text, in millionths. */
function computeKindDifference(kinds: TokenKinds, plainInput: number, output: number, prices: ResolvedPrices): bigint {
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

/** Computes the cost of units in nano-USD. */
export function computeUnitCosts({ units }: Served, extras: PriceExtras | null): bigint {
  let sum = 0n;
  for (const [unit, uses] of Object.entries(units)) {
    sum += BigInt(requireCount(uses, unit)) * (unitPrice(unit, extras) ?? 0n);
  }
  return sum;
}

/** Returns the prices of the highest tier that the input exceeds, else the base prices. */
function selectPrices(inputTokens: number, ofClass: ResolvedClass): ResolvedPrices {
  return ofClass.tiers.findLast((tier) => inputTokens > tier.aboveInputTokens) ?? ofClass;
}

/** A reported cost above this multiple of the computed cost counts as an error of the report. */
const REPORTED_COST_FACTOR_MAX = 100n;

/**
 * Returns the cost of an attempt: the provider's own figure if it is above 0 and at most {@link
 * REPORTED_COST_FACTOR_MAX} times the computed cost, else the computed cost.
 * @param computed from usage and cost version; null if one of them is unknown
 * @param reported absent: the response reports no cost
 */
export function selectRecordedCost(computed: NanoUsd | null, reported: NanoUsd | undefined): NanoUsd | null {
  if (computed === null || reported === undefined || reported <= 0n) return computed;
  return reported <= computed * REPORTED_COST_FACTOR_MAX ? reported : computed;
}
