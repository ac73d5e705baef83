import {
  type AliasView,
  isRefusal,
  type ManagementRefusal,
  type ModelView,
  type ProviderView,
  type SourceView,
  refuse,
} from '@gateway/contracts/operator';
import { aliasViewOf, modelViewOf, providerViewOf, sourceViewOf } from './view-rules.js';
import type { CatalogReads, Page, ObjectReads } from '../storage/reads-sql.js';
import type { CatalogStore } from '../storage/store.js';
import { pageOf, placeOf, type PageOf, type PageRequest } from './page-rules.js';
import type { Kind } from './rules.js';

/** Returns one page of objects, sorted by ID. `name` is the list's name in its cursors. */
export async function listObjects<View extends { readonly id: string }>(
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

export function listIds(objects: readonly { readonly id: string }[]): string[] {
  return objects.map(({ id }) => id);
}

interface Views {
  readonly provider: ProviderView;
  readonly model: ModelView;
  readonly source: SourceView;
  readonly alias: AliasView;
}

const READ: { readonly [K in Kind]: (reads: ObjectReads, id: string) => Promise<Views[K] | null> } = {
  async provider(reads, id) {
    const provider = await reads.provider(id);
    return provider && providerViewOf(provider);
  },
  async model(reads, id) {
    const model = await reads.model(id);
    return model && modelViewOf(model, await reads.versions({ model: id }), reads.nowMs);
  },
  async source(reads, id) {
    const source = await reads.source(id);
    if (!source) return null;
    const provider = await reads.provider(source.provider);
    return sourceViewOf(source, provider ?? undefined, await reads.versions({ source: id }), reads.nowMs);
  },
  async alias(reads, id) {
    const alias = await reads.alias(id);
    return alias && aliasViewOf(alias);
  },
};

/** Returns the operator API's view of an object. Null: it does not exist. */
export function readView<K extends Kind>(reads: ObjectReads, kind: K, id: string): Promise<Views[K] | null> {
  return READ[kind](reads, id);
}

/** Returns the view from the newest committed catalog, or refuses with `not_found`. */
export async function getView<K extends Kind>(
  store: CatalogStore,
  kind: K,
  id: string,
): Promise<Views[K] | ManagementRefusal> {
  const view = await store.read((reads) => readView(reads, kind, id));
  return view ?? refuse('not_found', `there is no ${kind} ${id}`);
}
