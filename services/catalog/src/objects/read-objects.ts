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
import type { CatalogReads, Page, ObjectReads } from './reads-sql.js';
import type { CatalogStore } from './store.js';
import { pageOf, placeOf, type PageOf, type PageRequest } from './page-rules.js';
import type { Kind } from './rules.js';

/**
 * One page of objects in the order of their ids. `name` is that of the list, which its cursors
 * carry.
 */
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

export function idsOf(objects: readonly { readonly id: string }[]): string[] {
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

/** One object as operators see it; null: it is not there. */
export function readView<K extends Kind>(reads: ObjectReads, kind: K, id: string): Promise<Views[K] | null> {
  return READ[kind](reads, id);
}

/** The same from the newest committed catalog, or `not_found`. */
export async function getView<K extends Kind>(
  store: CatalogStore,
  kind: K,
  id: string,
): Promise<Views[K] | ManagementRefusal> {
  const view = await store.read((reads) => readView(reads, kind, id));
  return view ?? refuse('not_found', `there is no ${kind} ${id}`);
}
