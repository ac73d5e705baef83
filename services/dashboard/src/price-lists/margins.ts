import { EXTRA_CLASSES, parseUsd, type ResolvedClass, type ResolvedPrices } from '@gateway/metering';
import { costOfClass, resolveCharged, TOKEN_KINDS, type ChargedPrices } from './charged.js';
import type { Prices } from './prices.js';

/** The price and the cost of one figure, in nano-USD. */
export interface Figure {
  readonly name: string;
  readonly price: bigint;
  readonly cost: bigint;
}

/**
 * Returns price and cost of everything that a request can be charged for at a source: each class
 * with a price that has costs or can be requested there, below and above each size at which a price
 * or cost changes, each kind of token that differs from text, each unit. Missing figures follow
 * from the others as in charges. A class or unit without a price is not sold. A unit without a cost
 * is skipped.
 */
export function compareFigures(price: ChargedPrices, cost: ChargedPrices): Figure[] {
  const [sold, bought] = [resolveCharged(price), resolveCharged(cost)];
  const found = tokenFigures(sold.standard, bought.standard, '');
  for (const name of EXTRA_CLASSES) {
    const ofPrice = sold[name];
    const isMet = bought[name] !== undefined || cost.requestable.includes(name);
    if (ofPrice !== undefined && isMet) found.push(...tokenFigures(ofPrice, costOfClass(bought, name), `${name} `));
  }
  for (const [unit, text] of Object.entries(cost.prices.unitsPerThousand ?? {})) {
    const own = price.prices.unitsPerThousand?.[unit];
    if (own !== undefined) found.push({ name: `1,000 ${unit}`, price: parseUsd(own), cost: parseUsd(text) });
  }
  found.push({
    name: 'per call',
    price: parseUsd(price.prices.perCall ?? '0'),
    cost: parseUsd(cost.prices.perCall ?? '0'),
  });
  return found.filter((one) => one.price !== 0n || one.cost !== 0n);
}

function tokenFigures(price: ResolvedClass, cost: ResolvedClass, before: string): Figure[] {
  return listSizes([price, cost]).flatMap((size) => {
    const [sold, bought] = [selectPrices(price, size), selectPrices(cost, size)];
    const after = size === 0 ? '' : ` above ${size}`;
    return TOKEN_KINDS.filter(
      ([, field, text]) => field === text || sold[field] !== sold[text] || bought[field] !== bought[text],
    ).map(([name, field]) => ({ name: `${before}${name}${after}`, price: sold[field], cost: bought[field] }));
  });
}

/** Returns zero and each input size above which a price changes. */
export function listSizes(all: readonly ResolvedClass[]): number[] {
  const sizes = all.flatMap(({ tiers }) => tiers.map(({ aboveInputTokens }) => aboveInputTokens));
  return [...new Set([0, ...sizes])].sort((a, b) => a - b);
}

/** Returns the token prices for an input just above a size. */
export function selectPrices(prices: ResolvedClass, size: number): ResolvedPrices {
  return prices.tiers.findLast(({ aboveInputTokens }) => aboveInputTokens <= size) ?? prices;
}

/** Returns the figures whose price is below their cost. */
export function findBelowCost(figures: readonly Figure[]): Figure[] {
  return figures.filter(({ price, cost }) => price < cost);
}

/**
 * Returns the lowest margin, (price - cost) / price, in tenths of a percent, rounded towards zero.
 * Null: a price is zero, or there are no figures.
 */
export function computeLeastMargin(figures: readonly Figure[]): number | null {
  if (figures.length === 0 || figures.some(({ price }) => price === 0n)) return null;
  return Math.min(...figures.map(({ price, cost }) => Number(((price - cost) * 1_000n) / price)));
}

/** Sorts sources or models by the cost of a short request, cheapest first. */
export function cheapestFirst<
  T extends { readonly costs: Pick<Prices, 'inputPerMillion' | 'outputPerMillion'> | null },
>(all: readonly T[]): T[] {
  const cost = ({ costs }: T): bigint =>
    costs === null ? 0n : parseUsd(costs.inputPerMillion) + parseUsd(costs.outputPerMillion);
  return all.toSorted((a, b) => (cost(a) < cost(b) ? -1 : cost(a) > cost(b) ? 1 : 0));
}
