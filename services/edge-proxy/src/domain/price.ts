import type { WirePriceFigures } from '@gateway/contracts/messages';
import type { PriceFigures, TokenPrices } from '@gateway/metering';

/** Price or cost figures of a message, for arithmetic. */
export function priceFromWire({ perCall, tiers, ...base }: WirePriceFigures): PriceFigures {
  return {
    ...pricesFromWire(base),
    perCall: BigInt(perCall),
    tiers: tiers.map(({ aboveInputTokens, ...prices }) => ({ aboveInputTokens, ...pricesFromWire(prices) })),
  };
}

type WirePrices = Omit<WirePriceFigures, 'perCall' | 'tiers'>;

function pricesFromWire(prices: WirePrices): TokenPrices {
  return {
    inputPerMillion: BigInt(prices.inputPerMillion),
    cachedInputPerMillion: optional(prices.cachedInputPerMillion),
    cacheWritePerMillion: optional(prices.cacheWritePerMillion),
    cacheWrite1hPerMillion: optional(prices.cacheWrite1hPerMillion),
    outputPerMillion: BigInt(prices.outputPerMillion),
  };
}

function optional(price: number | null): bigint | null {
  return price === null ? null : BigInt(price);
}
