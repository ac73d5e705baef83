import type { RefusalCode } from '@gateway/contracts/errors';
import type { CatalogModel, CatalogSource, Endpoint, PricedVersion } from '@gateway/contracts/messages';
import { boundFigures, type BoundFigures } from '@gateway/metering';
import { groupBy } from '@gateway/service-kit/group-by';

/** A model and what its sources serve. */
export interface ServedModel {
  readonly model: CatalogModel;
  /** Whether any source exists, in any state. */
  readonly hasSources: boolean;
  /** Endpoints that at least one source serves, including disabled sources. */
  readonly endpoints: ReadonlySet<Endpoint>;
  /** IDs of the enabled sources by endpoint. */
  readonly enabledSources: ReadonlyMap<Endpoint, readonly string[]>;
  /**
   * The largest figures of all sources, disabled ones included, by endpoint. They bound the tokens
   * of a request (docs/behaviour.md#worst-case).
   */
  readonly figures: ReadonlyMap<Endpoint, BoundFigures>;
}

export type CatalogView = ReadonlyMap<string, ServedModel>;

type CatalogRefusal = Extract<
  RefusalCode,
  | 'model_not_found'
  | 'endpoint_not_supported_for_model'
  | 'model_not_available'
  | 'model_not_priced'
  | 'no_upstream_available'
>;

/** The catalog's input to the decision on one call (docs/behaviour.md#order-of-refusals). */
export interface CatalogDecisionInput {
  /** The first refusal that applies. */
  readonly refusal: CatalogRefusal | null;
  /** Null on endpoints that are not billed and on unpriced models. */
  readonly price: PricedVersion | null;
  readonly figures: BoundFigures;
  readonly sources: readonly string[];
  /** The facts are valid within [from, until) of Redis time. */
  readonly from: number;
  readonly until: number;
}

const FOR_EVER = 8.64e15;
const UNKNOWN_FIGURES = boundFigures(undefined, []);
const UNKNOWN_MODEL: CatalogDecisionInput = {
  refusal: 'model_not_found',
  price: null,
  figures: UNKNOWN_FIGURES,
  sources: [],
  from: 0,
  until: FOR_EVER,
};

export function buildCatalogView(models: Iterable<CatalogModel>, sources: Iterable<CatalogSource>): CatalogView {
  const sourcesOf = groupBy(sources, ({ model }) => model);
  return new Map(Array.from(models, (model) => [model.id, toServedModel(model, sourcesOf.get(model.id) ?? [])]));
}

/** `now` is Redis time and selects the price that is in effect (`effectiveFrom`). */
export function computeModelFacts(
  view: CatalogView,
  modelName: string,
  endpoint: Endpoint,
  billed: boolean,
  now: number,
): CatalogDecisionInput {
  const served = view.get(modelName);
  if (served === undefined || !served.model.active) return UNKNOWN_MODEL;
  const { price, from, until } = billed ? findPriceAt(served.model, now) : { price: null, from: 0, until: FOR_EVER };
  const sources = served.enabledSources.get(endpoint) ?? [];
  const refusal = findFirstRefusal(served, endpoint, billed && price === null, sources.length);
  const figures = served.figures.get(endpoint) ?? UNKNOWN_FIGURES;
  return { refusal, price, figures, sources, from, until };
}

/**
 * Returns a price version that is in effect or not yet removed, for the answer to a repeated ID.
 */
export function findPriceVersion(view: CatalogView, modelName: string, version: string): PricedVersion | null {
  const dated = view.get(modelName)?.model.prices.find((candidate) => candidate.version === version);
  return dated?.figures ? { version, figures: dated.figures } : null;
}

function findFirstRefusal(
  served: ServedModel,
  endpoint: Endpoint,
  unpriced: boolean,
  enabled: number,
): CatalogDecisionInput['refusal'] {
  if (served.hasSources && !served.endpoints.has(endpoint)) return 'endpoint_not_supported_for_model';
  if (!served.model.available) return 'model_not_available';
  if (unpriced) return 'model_not_priced';
  return enabled === 0 ? 'no_upstream_available' : null;
}

function findPriceAt(model: CatalogModel, now: number): { price: PricedVersion | null; from: number; until: number } {
  let from = 0;
  let price: PricedVersion | null = null;
  for (const { version, effectiveFrom, figures } of model.prices) {
    if (effectiveFrom > now) return { price, from, until: effectiveFrom };
    from = effectiveFrom;
    price = figures === null ? null : { version, figures };
  }
  return { price, from, until: FOR_EVER };
}

/** Returns the kind of model that an endpoint serves. A source's other endpoints are ignored. */
function toModelKind(endpoint: Endpoint): CatalogModel['kind'] {
  return endpoint === '/v1/embeddings' ? 'embedding' : 'chat';
}

function toServedModel(model: CatalogModel, sources: readonly CatalogSource[]): ServedModel {
  const enabledSources = new Map<Endpoint, string[]>();
  const endpointsOf = (source: CatalogSource): Endpoint[] =>
    source.endpoints.filter((endpoint) => toModelKind(endpoint) === model.kind);
  for (const source of sources) {
    if (!source.enabled) continue;
    for (const endpoint of endpointsOf(source)) {
      const ids = enabledSources.get(endpoint);
      if (ids) ids.push(source.id);
      else enabledSources.set(endpoint, [source.id]);
    }
  }
  const endpoints = new Set(sources.flatMap(endpointsOf));
  const figures = Array.from(endpoints, (endpoint): [Endpoint, BoundFigures] => {
    const serving = sources.filter((source) => source.endpoints.includes(endpoint));
    return [
      endpoint,
      boundFigures(
        model,
        serving.map(({ attachments }) => attachments),
      ),
    ];
  });
  return { model, hasSources: sources.length > 0, endpoints, enabledSources, figures: new Map(figures) };
}
