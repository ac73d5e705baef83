import type { CallBounds, WirePriceFigures } from '@gateway/contracts/messages';
import { ATTACHMENT_TOKENS_DEFAULT, leastCost, worstCase } from '@gateway/metering';
import type { PriceFigures } from '@gateway/metering';

/** Highest cost within the bounds, in nano-USD: a safe integer (behaviour §2). */
export function worstNanoUsd(bounds: CallBounds, bytesPerToken: number, figures: WirePriceFigures): number {
  return Number(worstCase(bounds, { bytesPerToken, attachmentTokens: ATTACHMENT_TOKENS_DEFAULT }, fromWire(figures)));
}

/** Lowest cost that a plan-funded call must be able to pay, in nano-USD: a safe integer (behaviour §2). */
export function leastNanoUsd(bounds: CallBounds, figures: WirePriceFigures): number {
  return Number(leastCost(bounds, fromWire(figures)));
}

const converted = new WeakMap<WirePriceFigures, PriceFigures>();

/** A price version is rated by each of its calls and converted once. */
function fromWire(figures: WirePriceFigures): PriceFigures {
  const known = converted.get(figures);
  if (known !== undefined) return known;
  const price = {
    ...tokenPrices(figures),
    perCall: BigInt(figures.perCall),
    tiers: figures.tiers.map((tier) => ({ aboveInputTokens: tier.aboveInputTokens, ...tokenPrices(tier) })),
  };
  converted.set(figures, price);
  return price;
}

function tokenPrices(prices: Omit<WirePriceFigures, 'perCall' | 'tiers'>) {
  const optional = (value: number | null): bigint | null => (value === null ? null : BigInt(value));
  return {
    inputPerMillion: BigInt(prices.inputPerMillion),
    cachedInputPerMillion: optional(prices.cachedInputPerMillion),
    cacheWritePerMillion: optional(prices.cacheWritePerMillion),
    cacheWrite1hPerMillion: optional(prices.cacheWrite1hPerMillion),
    outputPerMillion: BigInt(prices.outputPerMillion),
  };
}
