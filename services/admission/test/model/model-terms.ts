import type { AccountTerms, CallBounds, Endpoint, PricedVersion } from '@gateway/contracts/messages';
import { leastCost, worstCase, type BoundFigures } from '@gateway/metering';
import type { CatalogView } from '../../src/admit/catalog-view-rules.js';

/** Account defaults of docs/behaviour.md#order-of-refusals, where billing has said nothing. */
export const NO_PLAN_DEFAULTS: AccountTerms = {
  plan: null,
  requestsPerMinute: 60,
  concurrency: 3,
  models: [],
  windows: [],
  allotments: [],
  subscription: null,
};

/** Largest amount of the wire: what stands for no limit. */
export const NO_LIMIT = 9_000_000_000_000_000;

type Terms = Omit<AccountTerms, 'next' | 'withoutPlan'>;

/**
 * What holds at a time: a period is in force from its start to its end, whatever billing has said
 * of it yet, the following one from its own start; between and after them there is no plan.
 */
export function termsAt({ next, withoutPlan, ...current }: AccountTerms, now: number): Terms {
  const terms = next && now >= next.subscription.start ? next : current;
  const { plan, subscription, requestsPerMinute, concurrency } = terms;
  if (plan && subscription && subscription.start <= now && now < subscription.end) return terms;
  return { ...NO_PLAN_DEFAULTS, ...(withoutPlan ?? { requestsPerMinute, concurrency }) };
}

/** The version whose time has come last; null when there is none, or it takes the price away. */
export function priceAt(catalog: CatalogView, model: string, now: number): PricedVersion | null {
  const prices = catalog.get(model)?.model.prices ?? [];
  const latest = prices.filter(({ effectiveFrom }) => effectiveFrom <= now).at(-1);
  return latest?.figures ? { version: latest.version, figures: latest.figures } : null;
}

/** Ids of the model's sources that serve an endpoint. */
export function sourcesOf(catalog: CatalogView, model: string, endpoint: Endpoint): readonly string[] {
  return catalog.get(model)?.enabledSources.get(endpoint) ?? [];
}

/** Most and least that a call can cost, by the library that is tested for it. */
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
