import type { ModelView, ProviderProfile, SourceView } from '@gateway/contracts/operator';
import { EXTRA_CLASSES } from '@gateway/metering';
import { belowCost, figuresOf, leastMargin, type Figure } from './margins.js';
import type { Charged } from './charged.js';
import { dearestOf, markedUp } from './markup.js';
import type { PriceList } from './price-list.js';
import { mergeCosts, plain, samePrices, type ExtraClass, type Prices } from './prices.js';

export interface SourceComparison {
  readonly source: SourceView;
  readonly before: Prices | null;
  /** As before where the list does not have it. */
  readonly after: Prices | null;
  readonly isListed: boolean;
  readonly isChanged: boolean;
  /** Names of its prices in the list that no cost stands for. */
  readonly unread: readonly string[];
}

export interface ModelComparison {
  readonly model: ModelView;
  readonly before: Prices | null;
  readonly after: Prices | null;
  readonly isChanged: boolean;
  readonly margin: ModelMargin;
}

/** What is left of a model's price at its sources. */
export interface ModelMargin {
  /** The dearest figures of the sources; null: no cost is known. */
  readonly cost: Prices | null;
  /** Of the dearest source, in tenths of a percent; null: not known, or sold for nothing. */
  readonly leastTenths: number | null;
  readonly below: readonly { readonly sourceId: string; readonly figure: Figure }[];
}

export interface Comparison {
  readonly sources: readonly SourceComparison[];
  /** Models of which the list has a source. */
  readonly models: readonly ModelComparison[];
}

export interface ComparisonRequest {
  readonly sources: readonly SourceView[];
  readonly models: readonly ModelView[];
  readonly list: PriceList;
  /** What requests can ask sources for. */
  readonly profiles: readonly ProviderProfile[];
  /** Only sources of this provider get other costs; null: all. */
  readonly provider: string | null;
  /** Hundredths of a percent that prices have above the dearest cost; null: prices stay. */
  readonly markup: bigint | null;
}

/** What the costs of a list would change, and what margin is left then. */
export function compareWithList(request: ComparisonRequest): Comparison {
  const { sources, models, list, profiles, provider, markup } = request;
  const compared = sources.map((source) => compareSource(source, list, provider));
  const touched = models.flatMap((model) => {
    const own = compared.filter(({ source }) => source.modelId === model.id);
    if (!own.some(({ isListed }) => isListed)) return [];
    const onMessages = own.some(({ source }) => isOnMessages(source));
    const costs = costsOfModel(own, profiles);
    const before = model.prices === null ? null : plain(model.prices);
    const [first, ...others] = costs;
    const priced =
      markup === null || first === undefined
        ? before
        : markedUp({ prices: dearestOf([first, ...others]), onMessages }, markup);
    const margin = marginOfModel(priced, own, profiles);
    return [{ model, before, after: priced, isChanged: !samePrices(before, priced), margin }];
  });
  return { sources: compared.filter(({ source }) => isMeant(source, provider)), models: touched };
}

type SourceWithCosts = Pick<SourceComparison, 'source' | 'after'>;

/** The margin of a model's prices at all of its sources, with the costs that are compared. */
export function marginOfModel(
  prices: Prices | null,
  own: readonly SourceWithCosts[],
  profiles: readonly ProviderProfile[],
): ModelMargin {
  const onMessages = own.some(({ source }) => isOnMessages(source));
  return marginOf(prices === null ? null : { prices, onMessages, asks: [] }, costsOfModel(own, profiles));
}

/** The costs of the sources that requests can reach. */
function costsOfModel(own: readonly SourceWithCosts[], profiles: readonly ProviderProfile[]): SourceCosts[] {
  return own.flatMap(({ source, after }) =>
    source.enabled && after !== null ? [{ sourceId: source.id, ...chargedAt(source, after, profiles) }] : [],
  );
}

/** What a source costs. */
export interface SourceCosts extends Charged {
  readonly sourceId: string;
}

/** The margin of a price at each of a model's sources. */
export function marginOf(price: Charged | null, costs: readonly SourceCosts[]): ModelMargin {
  const [first, ...others] = costs;
  const cost = first === undefined ? null : dearestOf([first, ...others]);
  if (price === null || cost === null) return { cost, leastTenths: null, below: [] };
  const figures = costs.map((one) => ({ sourceId: one.sourceId, figures: figuresOf(price, one) }));
  return {
    cost,
    leastTenths: leastMargin(figures.flatMap((one) => one.figures)),
    below: figures.flatMap(({ sourceId, figures: own }) => belowCost(own).map((figure) => ({ sourceId, figure }))),
  };
}

/** Whether a source serves the messages format, where 1-hour cache writes have their own price. */
export function isOnMessages({ endpoints }: { readonly endpoints: readonly string[] }): boolean {
  return endpoints.includes('/v1/messages');
}

/** A source without a profile, or that forwards everything, is charged as standard. */
function chargedAt(source: SourceView, prices: Prices, profiles: readonly ProviderProfile[]): Charged {
  const profile = source.unpriced === 'forward' ? undefined : profiles.find(({ id }) => id === source.profile);
  return { prices, onMessages: isOnMessages(source), asks: profile === undefined ? [] : classesOf(profile) };
}

/** Classes besides the standard one that requests can ask a provider for. */
export function classesOf({ pricing }: ProviderProfile): ExtraClass[] {
  const asked = (pricing?.classes ?? []).flatMap(({ asks }) => Object.values(asks));
  return EXTRA_CLASSES.filter((name) => asked.includes(name));
}

function isMeant(source: SourceView, provider: string | null): boolean {
  return provider === null || source.providerId === provider;
}

/** A source without a profile is looked up under the id of its provider. */
function compareSource(source: SourceView, list: PriceList, provider: string | null): SourceComparison {
  const { profile, providerId, upstreamModel, modelId, parameters } = source;
  const before = source.costs === null ? null : plain(source.costs);
  const wanted = { profile: profile ?? providerId, upstreamModel, modelId, parameters };
  const listed = isMeant(source, provider) ? list.find(wanted) : null;
  const after = listed === null ? before : mergeCosts(before, listed);
  const isListed = listed !== null;
  const unread = isListed ? list.unread(wanted) : [];
  return { source, before, after, isListed, isChanged: !samePrices(before, after), unread };
}
