import {
  isRefusal,
  type ManagementRefusal,
  type ModelView,
  type ProviderView,
  type SourceView,
} from '@gateway/contracts/operator';
import { modelViewOf, providerViewOf, sourceViewOf } from '../domain/views.js';
import type { CatalogReads, CatalogStore, Page } from '../ports.js';
import { pageOf, placeOf, type PageOf, type PageRequest } from './pages.js';

/** Providers in the order of their ids. */
export function listProviders(
  store: CatalogStore,
  request: PageRequest,
): Promise<PageOf<ProviderView> | ManagementRefusal> {
  return list(store, 'providers', request, async (reads, page) => (await reads.providers(page)).map(providerViewOf));
}

/** Models in the order of their ids. */
export function listModels(store: CatalogStore, request: PageRequest): Promise<PageOf<ModelView> | ManagementRefusal> {
  return list(store, 'models', request, async (reads, page) => {
    const models = await reads.models(page);
    const prices = await reads.versionsOf('prices', idsOf(models));
    return models.map((model) => modelViewOf(model, prices.get(model.id) ?? [], reads.nowMs));
  });
}

/** Sources in the order of their ids, of one model or all. */
export function listSources(
  store: CatalogStore,
  request: PageRequest & { readonly model: string | null },
): Promise<PageOf<SourceView> | ManagementRefusal> {
  return list(store, 'sources', request, async (reads, page) => {
    const sources = await reads.sources({ ...page, model: request.model });
    const costs = await reads.versionsOf('costs', idsOf(sources));
    const providers = await reads.providersOf([...new Set(sources.map(({ provider }) => provider))]);
    return sources.map((source) =>
      sourceViewOf(source, providers.get(source.provider)?.format, costs.get(source.id) ?? [], reads.nowMs),
    );
  });
}

async function list<View extends { readonly id: string }>(
  store: CatalogStore,
  name: string,
  request: PageRequest,
  find: (reads: CatalogReads, page: Page<string>) => Promise<View[]>,
): Promise<PageOf<View> | ManagementRefusal> {
  const from = placeOf(name, request);
  if (from && isRefusal(from)) return from;
  const page = { after: from?.place[0] ?? null, limit: request.limit + 1 };
  const found = await store.read((reads) => find(reads, page));
  return pageOf(name, found, request.limit, ({ id }) => [id]);
}

function idsOf(objects: readonly { readonly id: string }[]): string[] {
  return objects.map(({ id }) => id);
}
