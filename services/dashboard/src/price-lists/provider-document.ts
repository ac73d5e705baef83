import {
  providerSpec,
  sourceSpec,
  type CredentialInput,
  type ModelView,
  type ProviderProfile,
  type ProviderView,
  type SourceView,
} from '@gateway/contracts/operator';
import { findLaterCosts, type ListedModel } from './bundled-list.js';
import type { ChargedPrices } from './charged.js';
import { classesOf, isOnMessages, computeMargin, type ModelMargin } from './compare.js';
import { computeHighestCosts, applyMarkup } from './markup.js';
import { normalizePrices, type Prices } from './prices.js';

/** A model to add, with complete costs. */
export interface AddedModel extends ListedModel {
  /** Costs that the list lacks and that were computed, such as `priority cached input 0.2`. */
  readonly computed: readonly string[];
  /** Names of its prices in the list that the catalog cannot store. */
  readonly unread: readonly string[];
  /** Distinguishes its source from others of the provider. */
  readonly sourceName: string;
}

/** The provider, models and sources to add, and those that exist already. */
export interface ProviderRequest {
  readonly profile: ProviderProfile;
  readonly providerId: string;
  /** Null: the provider is new. */
  readonly there: ProviderView | null;
  readonly models: readonly AddedModel[];
  /** By ID. */
  readonly modelsThere: ReadonlyMap<string, ModelView>;
  readonly sourcesThere: ReadonlyMap<string, SourceView>;
  readonly parameters: Readonly<Record<string, string>>;
  /** Address of this provider's sources, instead of the profile's. */
  readonly baseUrl: string | null;
  /** The provider's credential, for all its sources; null: the existing one is kept. */
  readonly credential: CredentialInput | null;
  /** In hundredths of a percent. */
  readonly markup: bigint;
  /** Whether new sources take requests from the start. */
  readonly enabled: boolean;
}

export interface PlannedModel {
  readonly listed: AddedModel;
  readonly sourceId: string;
  /** Null: the model exists without a price, so it is not sold. */
  readonly prices: Prices | null;
  readonly isModelThere: boolean;
  /** Null: the source is new. */
  readonly sourceThere: SourceView | null;
  readonly margin: ModelMargin;
}

export interface ProviderPlan {
  /** Objects for `apply`, without existing ones, which stay unchanged. */
  readonly objects: readonly object[];
  /** Objects to apply after `objects`: prices and costs from a later day. */
  readonly later: readonly object[];
  readonly models: readonly PlannedModel[];
}

export function sourceIdOf(providerId: string, { sourceName }: Pick<AddedModel, 'sourceName'>): string {
  return `${providerId}-${sourceName.replace(/[^A-Za-z0-9_.-]/g, '-')}`.slice(0, 128);
}

/** Returns the document that adds a provider with its models. */
export function planProvider(request: ProviderRequest): ProviderPlan {
  const { modelsThere, sourcesThere } = request;
  const planned = request.models.map((listed): PlannedModel => {
    const sourceId = sourceIdOf(request.providerId, listed);
    const there = modelsThere.get(listed.id);
    const own = there === undefined ? pricesOf(request, listed, ({ costs }) => costs) : there.prices;
    const price = own === null ? null : normalizePrices(own);
    const onMessages = isModelOnMessages(request, listed);
    const margin = computeMargin(price === null ? null : { prices: price, onMessages, requestable: [] }, [
      { sourceId, ...chargedAt(request, listed, listed.costs) },
    ]);
    const sourceThere = sourcesThere.get(sourceId) ?? null;
    return { listed, sourceId, prices: price, isModelThere: there !== undefined, sourceThere, margin };
  });
  const isFirst = ({ listed }: PlannedModel, at: number): boolean =>
    planned.findIndex((one) => one.listed.id === listed.id) === at;
  const models = planned.filter((one, at) => !one.isModelThere && isFirst(one, at)).map(modelObject);
  const sources = planned.filter(({ sourceThere }) => sourceThere === null).map((one) => sourceObject(request, one));
  return {
    objects: [...providerObject(request), ...models, ...sources],
    later: laterObjects(request, planned),
    models: planned,
  };
}

/** Returns the new models and sources whose costs change on a known day. */
function laterObjects(request: ProviderRequest, models: readonly PlannedModel[]): object[] {
  const changes = models.flatMap((planned) => {
    const later = findLaterCosts(planned.listed);
    return later === null ? [] : [{ planned, ...later }];
  });
  return changes.flatMap(({ planned, costs, effectiveFrom }, at) => {
    const { listed } = planned;
    const isPriced = changes
      .slice(0, at)
      .some((one) => one.planned.listed.id === listed.id && one.effectiveFrom === effectiveFrom);
    const prices = pricesOf(request, listed, (one) => costsFrom(one, effectiveFrom));
    const then = { ...planned, listed: { ...listed, costs }, prices };
    return [
      ...(planned.isModelThere || isPriced ? [] : [addEffectiveDate(modelObject(then), 'prices', effectiveFrom)]),
      ...(planned.sourceThere === null ? [addEffectiveDate(sourceObject(request, then), 'costs', effectiveFrom)] : []),
    ];
  });
}

/** Returns the costs in force from a time on. */
function costsFrom(listed: AddedModel, effectiveFrom: string): Prices {
  const later = findLaterCosts(listed);
  return later !== null && later.effectiveFrom <= effectiveFrom ? later.costs : listed.costs;
}

function addEffectiveDate(object: CatalogDocument, figures: 'prices' | 'costs', effectiveFrom: string): object {
  return { ...object, spec: { ...object.spec, [figures]: { ...object.spec[figures], effectiveFrom } } };
}

interface CatalogDocument {
  readonly kind: string;
  readonly id: string;
  readonly spec: { readonly prices?: object; readonly costs?: object };
}

/** Computes a model's price, which covers its most expensive source. */
function pricesOf(request: ProviderRequest, listed: AddedModel, costsOf: (one: AddedModel) => Prices): Prices {
  const all = request.models.filter(({ id }) => id === listed.id).map((one) => chargedAt(request, one, costsOf(one)));
  const [first = chargedAt(request, listed, costsOf(listed)), ...others] = all;
  return applyMarkup(
    { prices: computeHighestCosts([first, ...others]), onMessages: isModelOnMessages(request, listed) },
    request.markup,
  );
}

function chargedAt({ profile }: ProviderRequest, listed: AddedModel, prices: Prices): ChargedPrices {
  return { prices, onMessages: isOnMessages(listed), requestable: classesOf(profile) };
}

function isModelOnMessages({ models, sourcesThere }: ProviderRequest, { id }: AddedModel): boolean {
  const there = [...sourcesThere.values()].filter(({ modelId }) => modelId === id);
  return [...models.filter((one) => one.id === id), ...there].some(isOnMessages);
}

/** Returns the sources, existing or new, as enabled. */
export function enabledSources(request: ProviderRequest, models: readonly PlannedModel[]): object[] {
  return models.map((planned) => {
    const { sourceId, sourceThere } = planned;
    const there = sourceThere === null ? sourceObject(request, planned).spec : sourceThere;
    // Omitted costs are kept, including scheduled ones.
    const { costs: _same, ...spec } = pick(there, Object.keys(sourceSpec.shape));
    return { kind: 'source', id: sourceId, spec: { ...spec, enabled: true } };
  });
}

/** Returns the fields of a view that its object's spec has. */
export function pick(from: object, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)));
}

/** Returns the provider. An existing one is replaced only to change its credential. */
function providerObject({ profile, providerId, there, credential }: ProviderRequest): object[] {
  if (there !== null && credential === null) return [];
  const spec =
    there === null ? { name: profile.name, format: profile.format } : pick(there, Object.keys(providerSpec.shape));
  return [{ kind: 'provider', id: providerId, spec: { ...spec, ...(credential === null ? {} : { credential }) } }];
}

function modelObject({ listed, prices }: PlannedModel): CatalogDocument {
  const { id, displayName, kind, contextLength, maxOutputTokens } = listed;
  const spec = { displayName, kind, contextLength, maxOutputTokens };
  return { kind: 'model', id, spec: { ...spec, ...(prices === null ? {} : { prices: normalizePrices(prices) }) } };
}

function sourceObject(request: ProviderRequest, { listed, sourceId }: PlannedModel): CatalogDocument {
  const { profile, providerId, parameters, baseUrl, enabled } = request;
  const spec = {
    modelId: listed.id,
    providerId,
    profile: profile.id,
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
    upstreamModel: listed.model,
    endpoints: listed.endpoints.filter((endpoint) => Object.hasOwn(profile.endpoints, endpoint)),
    ...(baseUrl === null ? {} : { baseUrl }),
    ...(enabled ? {} : { enabled }),
    costs: normalizePrices(listed.costs),
  };
  return { kind: 'source', id: sourceId, spec };
}
