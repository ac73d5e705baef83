import type { ModelView, SourceView } from '@gateway/contracts/operator';
import { belowCost, figuresOf, leastMargin, type Figure } from './margins.js';
import { dearestOf, markedUp } from './markup.js';
import type { PriceList } from './price-list.js';
import { mergeCosts, plain, samePrices, type Prices } from './prices.js';

export interface SourceComparison {
  readonly source: SourceView;
  readonly before: Prices | null;
  /** As before where the list does not have it. */
  readonly after: Prices | null;
  readonly isListed: boolean;
  readonly isChanged: boolean;
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
  /** Only sources of this provider get other costs; null: all. */
  readonly provider: string | null;
  /** Hundredths of a percent that prices have above the dearest cost; null: prices stay. */
  readonly markup: bigint | null;
}

/** What the costs of a list would change, and what margin is left then. */
export function compareWithList({ sources, models, list, provider, markup }: ComparisonRequest): Comparison {
  const compared = sources.map((source) => compareSource(source, list, provider));
  const touched = models.flatMap((model) => {
    const own = compared.filter(({ source }) => source.modelId === model.id);
    if (!own.some(({ isListed }) => isListed)) return [];
    const costs = own.flatMap(({ source, after }) =>
      source.enabled && after !== null ? [{ sourceId: source.id, costs: after }] : [],
    );
    const before = model.prices === null ? null : plain(model.prices);
    const [first, ...others] = costs.map((one) => one.costs);
    const priced = markup === null || first === undefined ? before : markedUp(dearestOf([first, ...others]), markup);
    return [{ model, before, after: priced, isChanged: !samePrices(before, priced), margin: marginOf(priced, costs) }];
  });
  return { sources: compared.filter(({ source }) => isMeant(source, provider)), models: touched };
}

/** The margin of a price at each of a model's sources. */
export function marginOf(
  price: Prices | null,
  costs: readonly { readonly sourceId: string; readonly costs: Prices }[],
): ModelMargin {
  const [first, ...others] = costs.map((one) => one.costs);
  const cost = first === undefined ? null : dearestOf([first, ...others]);
  if (price === null || cost === null) return { cost, leastTenths: null, below: [] };
  const figures = costs.map(({ sourceId, costs: own }) => ({ sourceId, figures: figuresOf(price, own) }));
  return {
    cost,
    leastTenths: leastMargin(figures.flatMap((one) => one.figures)),
    below: figures.flatMap(({ sourceId, figures: own }) => belowCost(own).map((figure) => ({ sourceId, figure }))),
  };
}

function isMeant(source: SourceView, provider: string | null): boolean {
  return provider === null || source.providerId === provider;
}

/** A source without a profile is looked up under the id of its provider. */
function compareSource(source: SourceView, list: PriceList, provider: string | null): SourceComparison {
  const { profile, providerId, upstreamModel, modelId, parameters } = source;
  const before = source.costs === null ? null : plain(source.costs);
  const listed = isMeant(source, provider)
    ? list.find({ profile: profile ?? providerId, upstreamModel, modelId, parameters })
    : null;
  const after = listed === null ? before : mergeCosts(before, listed);
  return { source, before, after, isListed: listed !== null, isChanged: !samePrices(before, after) };
}
