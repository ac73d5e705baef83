import { formatUsd, type ResolvedClass, type ResolvedPrices } from '@gateway/metering';
import { MEDIA_KINDS, resolveCharged, TIER_KINDS } from './charged.js';
import { differences, normalizePrices, type ExtraClass, type Prices, type TieredPrices } from './prices.js';

/**
 * Adds the prices that a list leaves out, as charges derive them: each kind that the standard
 * prices or those of the class have, in every class and tier; 1-hour cache writes if the provider
 * has cache writes and the messages format.
 * @returns the prices, and the names of those that were computed
 */
export function completeCosts(
  given: Prices,
  { isMessages }: { readonly isMessages: boolean },
): { readonly costs: Prices; readonly computed: readonly string[] } {
  const costs = normalizePrices(given);
  const resolved = resolveCharged({ prices: costs, onMessages: isMessages });
  const isHourSold = isMessages && costs.cacheWritePerMillion != null;
  const standard: Prices = withKinds(costs, resolved.standard, isHourSold ? ['cacheWrite1hPerMillion'] : []);
  const classes: Partial<Record<ExtraClass, TieredPrices>> = {};
  for (const [name, part] of Object.entries(costs.classes ?? {}) as [ExtraClass, TieredPrices | undefined][]) {
    const prices = resolved[name];
    if (part === undefined || prices === undefined) continue;
    const kinds = [...TIER_KINDS, ...MEDIA_KINDS.map(([, kind]) => kind)].filter((kind) => standard[kind] != null);
    const own = withKinds(part, prices, kinds);
    classes[name] = { ...own, tiers: completeTiers(own, prices) };
  }
  const completed = normalizePrices({ ...standard, tiers: completeTiers(standard, resolved.standard), classes });
  return { costs: completed, computed: differences(costs, completed).map(({ name, after }) => `${name} ${after}`) };
}

function completeTiers(part: TieredPrices, { tiers }: ResolvedClass): TieredPrices['tiers'] {
  const kinds = TIER_KINDS.filter((kind) => part[kind] != null);
  return part.tiers?.map((tier) => {
    const prices = tiers.find(({ aboveInputTokens }) => aboveInputTokens === tier.aboveInputTokens);
    return prices === undefined ? tier : withKinds(tier, prices, kinds);
  });
}

/** Adds the missing figures of these kinds. */
function withKinds<T extends object>(part: T, prices: ResolvedPrices, kinds: readonly (keyof ResolvedPrices)[]): T {
  const missing = kinds.filter((kind) => (part as Partial<Record<string, unknown>>)[kind] == null);
  return { ...part, ...Object.fromEntries(missing.map((kind) => [kind, formatUsd(prices[kind])])) };
}
