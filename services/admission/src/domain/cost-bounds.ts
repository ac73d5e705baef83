import { figuresOfVersion, type AskedExtras, type CallBounds, type PricedVersion } from '@gateway/contracts/messages';
import { isPriced, leastCost, STANDARD, worstCase } from '@gateway/metering';
import type { BoundFigures, NanoUsd, Served } from '@gateway/metering';

/** Readings of a request that have a price; never empty. */
export type PricedAsks = readonly [Served, ...Served[]];

const PLAIN: PricedAsks = [STANDARD];

/**
 * Those of the sources' readings that the version has a price for; null: it has none for any.
 * Absent asks are the standard class alone.
 */
export function pricedAsks(asks: readonly AskedExtras[] | undefined, price: PricedVersion): PricedAsks | null {
  if (asks === undefined) return PLAIN;
  const { extras } = figuresOfVersion(price);
  const [first, ...others] = asks.filter((asked) => isPriced(asked, extras));
  return first === undefined ? null : [first, ...others];
}

/**
 * Highest cost within the bounds, by the dearest of the readings, in nano-USD: a safe integer
 * (docs/behaviour.md#worst-case).
 */
export function worstNanoUsd(
  bounds: CallBounds,
  figures: BoundFigures,
  price: PricedVersion,
  asks: PricedAsks = PLAIN,
): number {
  const prices = figuresOfVersion(price);
  let worst: NanoUsd = 0n;
  for (const asked of asks) {
    const cost = worstCase(bounds, figures, prices, asked);
    if (cost > worst) worst = cost;
  }
  return Number(worst);
}

/**
 * Lowest cost that a plan-funded call must be able to pay, by the cheapest of the readings, in
 * nano-USD: a safe integer (docs/behaviour.md#who-pays).
 */
export function leastNanoUsd(bounds: CallBounds, price: PricedVersion, asks: PricedAsks = PLAIN): number {
  const prices = figuresOfVersion(price);
  const costs = asks.map((asked) => leastCost(bounds, prices, asked));
  return Number(costs.reduce((least, cost) => (cost < least ? cost : least)));
}
