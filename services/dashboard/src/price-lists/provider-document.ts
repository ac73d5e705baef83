import {
  providerSpec,
  type CredentialInput,
  type ModelView,
  type ProviderProfile,
  type ProviderView,
  type SourceView,
} from '@gateway/contracts/operator';
import { laterCosts, type ListedModel } from './bundled-list.js';
import { marginOf, type ModelMargin } from './compare.js';
import { markedUp } from './markup.js';
import { plain, type Prices } from './prices.js';

/** What is to be added, and what is there already. */
export interface ProviderRequest {
  readonly profile: ProviderProfile;
  readonly providerId: string;
  /** Null: it is to be made. */
  readonly there: ProviderView | null;
  readonly models: readonly ListedModel[];
  /** By id. */
  readonly modelsThere: ReadonlyMap<string, ModelView>;
  readonly sourcesThere: ReadonlyMap<string, SourceView>;
  readonly parameters: Readonly<Record<string, string>>;
  /** Where the sources of this provider are, instead of the address of the profile. */
  readonly baseUrl: string | null;
  /** Of the provider, for all its sources; null: what is there stays. */
  readonly credential: CredentialInput | null;
  /** Hundredths of a percent. */
  readonly markup: bigint;
}

export interface PlannedModel {
  readonly listed: ListedModel;
  readonly sourceId: string;
  /** Null: the model is there already and has no price, so that it is not sold. */
  readonly prices: Prices | null;
  readonly isModelThere: boolean;
  readonly isSourceThere: boolean;
  readonly margin: ModelMargin;
}

export interface ProviderPlan {
  /** As `apply` takes it; without what is there already, which stays as it is. */
  readonly objects: readonly object[];
  /** To be applied after `objects`: prices and costs from a later day on. */
  readonly later: readonly object[];
  readonly models: readonly PlannedModel[];
}

/** The id of a provider's source of a model. */
export function sourceIdOf(providerId: string, model: string): string {
  const name = model.slice(model.lastIndexOf('/') + 1).replace(/[^A-Za-z0-9_.-]/g, '-');
  return `${providerId}-${name}`.slice(0, 128);
}

/** The document that adds a provider with its models. */
export function planProvider(request: ProviderRequest): ProviderPlan {
  const { modelsThere, sourcesThere, markup, providerId } = request;
  const planned = request.models.map((listed): PlannedModel => {
    const sourceId = sourceIdOf(providerId, listed.id);
    const there = modelsThere.get(listed.id);
    const own = there === undefined ? markedUp(listed.costs, markup) : there.prices;
    const price = own === null ? null : plain(own);
    const margin = marginOf(price, [{ sourceId, costs: listed.costs }]);
    const isSourceThere = sourcesThere.has(sourceId);
    return { listed, sourceId, prices: price, isModelThere: there !== undefined, isSourceThere, margin };
  });
  const models = planned.filter(({ isModelThere }) => !isModelThere).map(modelObject);
  const sources = planned.filter(({ isSourceThere }) => !isSourceThere).map((one) => sourceObject(request, one));
  const later = planned.flatMap((one) => laterObjects(request, one));
  return { objects: [...providerObject(request), ...models, ...sources], later, models: planned };
}

/** New models and sources whose costs change on a day that is known. */
function laterObjects(request: ProviderRequest, planned: PlannedModel): object[] {
  const later = laterCosts(planned.listed);
  if (later === null) return [];
  const { costs, effectiveFrom } = later;
  const at = { ...planned, listed: { ...planned.listed, costs }, prices: markedUp(costs, request.markup) };
  const model = planned.isModelThere ? [] : [dated(modelObject(at), 'prices', effectiveFrom)];
  return planned.isSourceThere ? model : [...model, dated(sourceObject(request, at), 'costs', effectiveFrom)];
}

function dated(object: CatalogDocument, figures: 'prices' | 'costs', effectiveFrom: string): object {
  return { ...object, spec: { ...object.spec, [figures]: { ...object.spec[figures], effectiveFrom } } };
}

interface CatalogDocument {
  readonly kind: string;
  readonly id: string;
  readonly spec: { readonly prices?: object; readonly costs?: object };
}

/** One that is there is put again only with another credential. */
function providerObject({ profile, providerId, there, credential }: ProviderRequest): object[] {
  if (there !== null && credential === null) return [];
  const spec = there === null ? { name: profile.name, format: profile.format } : fieldsOf(there);
  return [{ kind: 'provider', id: providerId, spec: { ...spec, ...(credential === null ? {} : { credential }) } }];
}

function fieldsOf(view: ProviderView): object {
  return Object.fromEntries(Object.entries(view).filter(([name]) => Object.hasOwn(providerSpec.shape, name)));
}

function modelObject({ listed, prices }: PlannedModel): CatalogDocument {
  const { id, displayName, kind, contextLength, maxOutputTokens } = listed;
  const spec = { displayName, kind, contextLength, maxOutputTokens };
  return { kind: 'model', id, spec: { ...spec, ...(prices === null ? {} : { prices: plain(prices) }) } };
}

function sourceObject(request: ProviderRequest, { listed, sourceId }: PlannedModel): CatalogDocument {
  const { profile, providerId, parameters, baseUrl } = request;
  const spec = {
    modelId: listed.id,
    providerId,
    profile: profile.id,
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
    upstreamModel: listed.model,
    endpoints: listed.endpoints.filter((endpoint) => Object.hasOwn(profile.endpoints, endpoint)),
    ...(baseUrl === null ? {} : { baseUrl }),
    costs: plain(listed.costs),
  };
  return { kind: 'source', id: sourceId, spec };
}
