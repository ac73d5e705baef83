import { convertFigures, formatUsd, parseUsd, type PriceFigures, type TokenPrices } from '@gateway/metering';
import type { WirePriceFigures } from '@gateway/contracts/messages';
import { refuse, type ManagementRefusal, type PricesSpec } from '@gateway/contracts/operator';

/**
 * What the least cost divides prompt bytes by (metering): the bytes that no more than one token is
 * expected to cover.
 */
const LEAST_COST_BYTES_PER_TOKEN = 8;

/**
 * Prices as an operator wrote them, in nano-USD, tiers by size. Two tiers for one size are refused.
 */
export function figuresOf(spec: PricesSpec, param: 'prices' | 'costs'): PriceFigures | ManagementRefusal {
  const tiers = [...(spec.tiers ?? [])].sort((a, b) => a.aboveInputTokens - b.aboveInputTokens);
  const twice = tiers.find((tier, index) => tiers[index + 1]?.aboveInputTokens === tier.aboveInputTokens);
  if (twice)
    return refuse('invalid_request', `two tiers begin above ${twice.aboveInputTokens} tokens`, `${param}.tiers`);
  return convertFigures({ ...spec, perCall: spec.perCall ?? '0', tiers }, parseUsd);
}

/**
 * Prices in the form in which they are put, without a time: put again they are the same figures.
 */
export function toSpec(figures: PriceFigures): PricesSpec {
  return convertFigures(figures, formatUsd);
}

/** Amounts as JSON integers; they are exact because none is above metering's largest amount. */
export function toWireFigures(figures: PriceFigures): WirePriceFigures {
  return convertFigures(figures, Number);
}

/**
 * Equal figures, tiers in the same order; a null price differs from the same number written out.
 */
export function sameFigures(a: PriceFigures | null, b: PriceFigures | null): boolean {
  if (a === null || b === null) return a === b;
  return JSON.stringify(toWireFigures(a)) === JSON.stringify(toWireFigures(b));
}

/**
 * Whether the least cost of some call would exceed its worst case (metering's least cost takes 8
 * bytes per token and the cheapest input price of any tier; the worst case the model's bytes per
 * token and, for a short prompt, the dearest base price). No call of such a model could be judged.
 */
export function leastExceedsWorst(bytesPerToken: number, figures: PriceFigures): boolean {
  const cheapest = inputPrices(figures)
    .concat(figures.tiers.flatMap(inputPrices))
    .reduce((a, b) => (b < a ? b : a));
  const dearestBase = inputPrices(figures).reduce((a, b) => (b > a ? b : a));
  return (
    BigInt(Math.round(bytesPerToken * 1_000)) * cheapest > BigInt(LEAST_COST_BYTES_PER_TOKEN * 1_000) * dearestBase
  );
}

function inputPrices(prices: TokenPrices): bigint[] {
  const { inputPerMillion, cachedInputPerMillion, cacheWritePerMillion, cacheWrite1hPerMillion } = prices;
  return [
    inputPerMillion,
    ...[cachedInputPerMillion, cacheWritePerMillion, cacheWrite1hPerMillion].map((price) => price ?? inputPerMillion),
  ];
}
