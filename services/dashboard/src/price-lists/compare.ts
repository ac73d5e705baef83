import type { ModelView, ProviderProfile, SourceView } from '@gateway/contracts/operator';
import { EXTRA_CLASSES } from '@gateway/metering';
import { findBelowCost, compareFigures, computeLeastMargin, type Figure } from './margins.js';
import type { ChargedPrices } from './charged.js';
import { computeHighestCosts, applyMarkup } from './markup.js';
import type { PriceList } from './price-list.js';
import { mergeCosts, normalizePrices, samePrices, type ExtraClass, type Prices } from './prices.js';

export interface SourceComparison {
  readonly source: SourceView;
  readonly before: Prices | null;
  /** Equal to `before` if the list does not have the model. */
  readonly after: Prices | null;
  readonly isListed: boolean;
  readonly isChanged: boolean;
  /** Names of the source's prices in the list that the catalog cannot store. */
  readonly unread: readonly string[];
}

export interface ModelComparison {
  readonly model: ModelView;
  readonly before: Prices | null;
  readonly after: Prices | null;
  readonly isChanged: boolean;
  readonly margin: ModelMargin;
}

/** The margin of a model's price at its sources. */
export interface ModelMargin {
  /** The highest figures of the sources; null: no cost is known. */
  readonly cost: Prices | null;
  /** The lowest margin, in tenths of a percent; null: unknown, or the price is zero. */
  readonly leastTenths: number | null;
  readonly below: readonly { readonly sourceId: string; readonly figure: Figure }[];
}

export interface Comparison {
  readonly sources: readonly SourceComparison[];
  /** Models with a source in the list. */
  readonly models: readonly ModelComparison[];
}

export interface ComparisonRequest {
  readonly sources: readonly SourceView[];
  readonly models: readonly ModelView[];
  readonly list: PriceList;
  /** Profiles, which name the classes that requests can ask for. */
  readonly profiles: readonly ProviderProfile[];
  /** Only sources of this provider get new costs; null: all. */
  readonly provider: string | null;
  /** Markup on the highest cost, in hundredths of a percent; null: prices stay unchanged. */
  readonly markup: bigint | null;
}

/** Compares costs and prices with a list, and computes the margins after the change. */
export function compareWithList(request: ComparisonRequest): Comparison {
  const { sources, models, list, profiles, provider, markup } = request;
  const compared = sources.map((source) => compareSource(source, list, provider));
  const touched = models.flatMap((model) => {
    const own = compared.filter(({ source }) => source.modelId === model.id);
    if (!own.some(({ isListed }) => isListed)) return [];
    const onMessages = own.some(({ source }) => isOnMessages(source));
    const costs = costsOfModel(own, profiles);
    const before = model.prices === null ? null : normalizePrices(model.prices);
    const [first, ...others] = costs;
    const priced =
      markup === null || first === undefined
        ? before
        : applyMarkup({ prices: computeHighestCosts([first, ...others]), onMessages }, markup);
    const margin = computeModelMargin(priced, own, profiles);
    return [{ model, before, after: priced, isChanged: !samePrices(before, priced), margin }];
  });
  return { sources: compared.filter(({ source }) => isSelected(source, provider)), models: touched };
}

type SourceWithCosts = Pick<SourceComparison, 'source' | 'after'>;

/** Computes the margin of a model's prices at all its sources, with the compared costs. */
export function computeModelMargin(
  prices: Prices | null,
  own: readonly SourceWithCosts[],
  profiles: readonly ProviderProfile[],
): ModelMargin {
  const onMessages = own.some(({ source }) => isOnMessages(source));
  return computeMargin(prices === null ? null : { prices, onMessages, requestable: [] }, costsOfModel(own, profiles));
}

/** Returns the costs of the sources that requests can reach. */
function costsOfModel(own: readonly SourceWithCosts[], profiles: readonly ProviderProfile[]): SourceCosts[] {
  return own.flatMap(({ source, after }) =>
    source.enabled && after !== null ? [{ sourceId: source.id, ...toChargedPrices(source, after, profiles) }] : [],
  );
}

export interface SourceCosts extends ChargedPrices {
  readonly sourceId: string;
}

export function computeMargin(price: ChargedPrices | null, costs: readonly SourceCosts[]): ModelMargin {
  const [first, ...others] = costs;
  const cost = first === undefined ? null : computeHighestCosts([first, ...others]);
  if (price === null || cost === null) return { cost, leastTenths: null, below: [] };
  const figures = costs.map((one) => ({ sourceId: one.sourceId, figures: compareFigures(price, one) }));
  return {
    cost,
    leastTenths: computeLeastMargin(figures.flatMap((one) => one.figures)),
    below: figures.flatMap(({ sourceId, figures: own }) => findBelowCost(own).map((figure) => ({ sourceId, figure }))),
  };
}

/** Returns whether a source serves the messages format, with 1-hour cache write prices. */
export function isOnMessages({ endpoints }: { readonly endpoints: readonly string[] }): boolean {
  return endpoints.includes('/v1/messages');
}

/**
 * Returns a source's costs. A source without a profile, or one that forwards all fields, is charged
 * as standard.
 */
function toChargedPrices(source: SourceView, prices: Prices, profiles: readonly ProviderProfile[]): ChargedPrices {
  const profile = source.unpriced === 'forward' ? undefined : profiles.find(({ id }) => id === source.profile);
  return { prices, onMessages: isOnMessages(source), requestable: profile === undefined ? [] : classesOf(profile) };
}

/** Returns the classes, other than standard, that requests can ask a provider for. */
export function classesOf({ pricing }: ProviderProfile): ExtraClass[] {
  const asked = (pricing?.classes ?? []).flatMap(({ asks }) => Object.values(asks));
  return EXTRA_CLASSES.filter((name) => asked.includes(name));
}

function isSelected(source: SourceView, provider: string | null): boolean {
  return provider === null || source.providerId === provider;
}

/** Compares a source with the list, by its profile or else the ID of its provider. */
function compareSource(source: SourceView, list: PriceList, provider: string | null): SourceComparison {
  const { profile, providerId, upstreamModel, modelId, parameters } = source;
  const before = source.costs === null ? null : normalizePrices(source.costs);
  const wanted = { profile: profile ?? providerId, upstreamModel, modelId, parameters };
  const listed = isSelected(source, provider) ? list.find(wanted) : null;
  const after = listed === null ? before : mergeCosts(before, listed);
  const isListed = listed !== null;
  const unread = isListed ? list.unread(wanted) : [];
  return { source, before, after, isListed, isChanged: !samePrices(before, after), unread };
}
