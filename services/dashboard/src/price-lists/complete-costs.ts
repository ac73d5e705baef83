import { parseUsd } from '@gateway/metering';
import { timesRatio } from './decimal.js';
import { differences, plain, type ExtraClass, type Prices, type TieredPrices, type TokenPrices } from './prices.js';

/** The dearer of the standard prices that are multiplied by the ratio of input prices. */
const INPUT_KINDS = ['cachedInputPerMillion', 'cacheWritePerMillion', 'cacheWrite1hPerMillion'] as const;
/** An hour's cache write in the messages format, as a multiple of input. */
const HOUR_WRITE_FACTOR = '2';

/**
 * Adds the prices that a list leaves out: in a class or tier the standard price of the same kind,
 * times the ratio of the two input prices; for cache writes that live an hour at a provider of the
 * messages format twice the input price.
 * @returns the prices, and the names of those that were computed
 */
export function completeCosts(
  given: Prices,
  { isMessages }: { readonly isMessages: boolean },
): { readonly costs: Prices; readonly computed: readonly string[] } {
  const costs = plain(given);
  const standard = withHourWrite(costs, isMessages);
  const complete = <T extends TokenPrices>(part: T): T => scaledFrom(standard, part);
  const completeClass = (part: TieredPrices): TieredPrices => {
    const own = complete(part);
    return { ...own, tiers: part.tiers?.map((tier) => scaledFrom(own, tier)) };
  };
  const classes: Partial<Record<ExtraClass, TieredPrices>> = {};
  for (const [name, part] of Object.entries(costs.classes ?? {}) as [ExtraClass, TieredPrices | undefined][])
    if (part !== undefined) classes[name] = completeClass(part);
  const completed = plain({ ...standard, tiers: costs.tiers?.map(complete), classes });
  return { costs: completed, computed: differences(costs, completed).map(({ name, after }) => `${name} ${after}`) };
}

function withHourWrite(costs: Prices, isMessages: boolean): Prices {
  if (!isMessages || costs.cacheWritePerMillion == null || costs.cacheWrite1hPerMillion != null) return costs;
  return { ...costs, cacheWrite1hPerMillion: timesRatio(costs.inputPerMillion, HOUR_WRITE_FACTOR, '1') };
}

function scaledFrom<T extends TokenPrices>(standard: TokenPrices, part: T): T {
  if (parseUsd(standard.inputPerMillion) === 0n) return part;
  const missing = INPUT_KINDS.filter((kind) => part[kind] == null && standard[kind] != null);
  const scaled = missing.map((kind) => [
    kind,
    timesRatio(standard[kind] as string, part.inputPerMillion, standard.inputPerMillion),
  ]);
  return { ...part, ...Object.fromEntries(scaled) };
}
