import { convertFigures, type PriceFigures } from '@gateway/metering';
import type { PricedVersion, WirePriceFigures } from './call.js';

type WirePrices = Omit<WirePriceFigures, 'perCall' | 'tiers' | 'extras'>;

/** Converts price or cost figures of a message to bigints. */
export function figuresFromWire(wire: WirePriceFigures): PriceFigures {
  return convertFigures(wire, BigInt);
}

/** Maximum number of versions whose converted figures are cached. */
const VERSIONS_MAX = 1_000;
const remembered = new Map<string, { readonly wire: WirePriceFigures; readonly figures: PriceFigures }>();

/**
 * Returns the figures of a version as bigints. The cache helps because most calls use the same few
 * versions. A cached entry is used only if its figures are equal, not only its version.
 */
export function toPriceFigures({ version, figures: wire }: PricedVersion): PriceFigures {
  const known = remembered.get(version);
  if (known !== undefined && areSame(known.wire, wire)) return known.figures;
  if (remembered.size >= VERSIONS_MAX) remembered.clear();
  const figures = figuresFromWire(wire);
  remembered.set(version, { wire, figures });
  return figures;
}

function areSame(one: WirePriceFigures, other: WirePriceFigures): boolean {
  return (
    one.perCall === other.perCall &&
    arePricesSame(one, other) &&
    one.tiers.length === other.tiers.length &&
    one.tiers.every((tier, index) => {
      const beside = other.tiers[index];
      return beside !== undefined && tier.aboveInputTokens === beside.aboveInputTokens && arePricesSame(tier, beside);
    }) &&
    (one.extras === other.extras || JSON.stringify(one.extras) === JSON.stringify(other.extras))
  );
}

function arePricesSame(one: WirePrices, other: WirePrices): boolean {
  return (
    one.inputPerMillion === other.inputPerMillion &&
    one.cachedInputPerMillion === other.cachedInputPerMillion &&
    one.cacheWritePerMillion === other.cacheWritePerMillion &&
    one.cacheWrite1hPerMillion === other.cacheWrite1hPerMillion &&
    one.outputPerMillion === other.outputPerMillion
  );
}
