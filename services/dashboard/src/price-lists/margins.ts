import { parseUsd } from '@gateway/metering';
import type { Prices, TieredPrices, TokenPrices } from './prices.js';

/** One thing that is sold, in nano-USD: its price beside what it costs. */
export interface Figure {
  readonly name: string;
  readonly price: bigint;
  readonly cost: bigint;
}

const KINDS = [
  ['input', 'inputPerMillion'],
  ['cached input', 'cachedInputPerMillion'],
  ['cache write', 'cacheWritePerMillion'],
  ['cache write for an hour', 'cacheWrite1hPerMillion'],
  ['output', 'outputPerMillion'],
] as const;
const OTHER_KINDS = [
  ['audio input', 'audioInputPerMillion', 'inputPerMillion'],
  ['image input', 'imageInputPerMillion', 'inputPerMillion'],
  ['audio output', 'audioOutputPerMillion', 'outputPerMillion'],
  ['image output', 'imageOutputPerMillion', 'outputPerMillion'],
] as const;

/**
 * Price beside cost of everything that both have, below and above each size at which one of them
 * changes. What has no figure of its own counts as input, or as text. A class or a tool that has no
 * price is not sold, and one whose cost is not known cannot be judged.
 */
export function figuresOf(price: Prices, cost: Prices): Figure[] {
  const found = [...tokenFigures(price, cost, ''), ...otherKinds(price, cost)];
  for (const name of ['priority', 'flex', 'fast'] as const) {
    const [ofPrice, ofCost] = [price.classes?.[name], cost.classes?.[name]];
    if (ofPrice !== undefined && ofCost !== undefined) found.push(...tokenFigures(ofPrice, ofCost, `${name} `));
  }
  for (const [unit, text] of Object.entries(cost.unitsPerThousand ?? {})) {
    const sold = price.unitsPerThousand?.[unit];
    if (sold !== undefined) found.push(figure(`1,000 ${unit}`, sold, text));
  }
  if (cost.perCall !== undefined) found.push(figure('per call', price.perCall ?? '0', cost.perCall));
  return found.filter((one) => one.price !== 0n || one.cost !== 0n);
}

function tokenFigures(price: TieredPrices, cost: TieredPrices, before: string): Figure[] {
  return sizesOf([price, cost]).flatMap((size) => {
    const [sold, bought] = [pricesAbove(price, size), pricesAbove(cost, size)];
    const after = size === 0 ? '' : ` above ${size}`;
    return KINDS.filter(([, field]) => sold[field] != null || bought[field] != null).map(([name, field]) =>
      figure(`${before}${name}${after}`, amountOf(sold, field), amountOf(bought, field)),
    );
  });
}

function otherKinds(price: Prices, cost: Prices): Figure[] {
  return sizesOf([price, cost]).flatMap((size) => {
    const [sold, bought] = [pricesAbove(price, size), pricesAbove(cost, size)];
    const after = size === 0 ? '' : ` above ${size}`;
    return OTHER_KINDS.filter(([, field]) => price[field] != null || cost[field] != null).map(([name, field, text]) =>
      figure(`${name}${after}`, price[field] ?? sold[text], cost[field] ?? bought[text]),
    );
  });
}

function figure(name: string, price: string, cost: string): Figure {
  return { name, price: parseUsd(price), cost: parseUsd(cost) };
}

/** Zero, and each size of input above which one of them has other prices. */
export function sizesOf(all: readonly TieredPrices[]): number[] {
  const sizes = all.flatMap(({ tiers }) => (tiers ?? []).map(({ aboveInputTokens }) => aboveInputTokens));
  return [...new Set([0, ...sizes])].sort((a, b) => a - b);
}

/** The token prices of a call that has just more input than that. */
export function pricesAbove(given: TieredPrices, size: number): TokenPrices {
  const reached = (given.tiers ?? []).filter(({ aboveInputTokens }) => aboveInputTokens <= size);
  return reached.sort((a, b) => b.aboveInputTokens - a.aboveInputTokens)[0] ?? given;
}

/** A figure, or that of input where it has none of its own. */
export function amountOf(given: TokenPrices, field: (typeof KINDS)[number][1]): string {
  return given[field] ?? given.inputPerMillion;
}

/** What would be sold for less than it costs. */
export function belowCost(figures: readonly Figure[]): Figure[] {
  return figures.filter(({ price, cost }) => price < cost);
}

/**
 * The least margin of the figures, (price - cost) / price, in tenths of a percent, towards zero.
 * Null: something that costs is sold for nothing, or there is nothing to compare.
 */
export function leastMargin(figures: readonly Figure[]): number | null {
  if (figures.length === 0 || figures.some(({ price }) => price === 0n)) return null;
  return Math.min(...figures.map(({ price, cost }) => Number(((price - cost) * 1_000n) / price)));
}

/** Returns sources or models by what a short request costs, the cheapest first. */
export function cheapestFirst<
  T extends { readonly costs: Pick<Prices, 'inputPerMillion' | 'outputPerMillion'> | null },
>(all: readonly T[]): T[] {
  const cost = ({ costs }: T): bigint =>
    costs === null ? 0n : parseUsd(costs.inputPerMillion) + parseUsd(costs.outputPerMillion);
  return all.toSorted((a, b) => (cost(a) < cost(b) ? -1 : cost(a) > cost(b) ? 1 : 0));
}
