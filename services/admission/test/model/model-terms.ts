import {
  type AccountTerms,
  type CallBounds,
  type Endpoint,
  type PricedVersion,
  TERMS_WITHOUT_PLAN,
} from '@gateway/contracts/messages';
import { leastCost, worstCase, type BoundFigures } from '@gateway/metering';
import type { CatalogView } from '../../src/admit/catalog-view-rules.js';

/** The largest amount in messages, used as no limit. */
export const NO_LIMIT = 9_000_000_000_000_000;

type Terms = Omit<AccountTerms, 'next' | 'withoutPlan'>;

/**
 * Returns the terms at a time. A period is in effect from its start to its end, regardless of later
 * messages from billing. The next one begins at its own start. Outside them there is no plan.
 */
export function termsAt({ next, withoutPlan, ...current }: AccountTerms, now: number): Terms {
  const terms = next && now >= next.subscription.start ? next : current;
  const { plan, subscription, requestsPerMinute, concurrency } = terms;
  if (plan && subscription && subscription.start <= now && now < subscription.end) return terms;
  return { ...TERMS_WITHOUT_PLAN, ...(withoutPlan ?? { requestsPerMinute, concurrency }) };
}

/** Returns the version with the latest start. Null if there is none or it removes the price. */
export function priceAt(catalog: CatalogView, model: string, now: number): PricedVersion | null {
  const prices = catalog.get(model)?.model.prices ?? [];
  const latest = prices.filter(({ effectiveFrom }) => effectiveFrom <= now).at(-1);
  return latest?.figures ? { version: latest.version, figures: latest.figures } : null;
}

/** IDs of the model's sources that serve an endpoint. */
export function sourcesOf(catalog: CatalogView, model: string, endpoint: Endpoint): readonly string[] {
  return catalog.get(model)?.enabledSources.get(endpoint) ?? [];
}

/** The highest and the lowest cost of a call, computed by the library, which has its own tests. */
export function costsOf(bounds: CallBounds, size: BoundFigures, { figures }: PricedVersion) {
  const { tiers, perCall, ...base } = figures;
  const tokens = {
    inputPerMillion: BigInt(base.inputPerMillion),
    cachedInputPerMillion: null,
    cacheWritePerMillion: null,
    cacheWrite1hPerMillion: null,
    outputPerMillion: BigInt(base.outputPerMillion),
  };
  if (tiers.length > 0) throw new RangeError('the model of the decision knows no tiers');
  const price = { ...tokens, perCall: BigInt(perCall), tiers: [], extras: null };
  return { worst: Number(worstCase(bounds, size, price)), least: Number(leastCost(bounds, price)) };
}
