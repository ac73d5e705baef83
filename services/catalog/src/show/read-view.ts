import {
  refuse,
  type ManagementRefusal,
  type ModelView,
  type ProviderView,
  type SourceView,
} from '@gateway/contracts/operator';
import type { Kind } from '../domain/objects.js';
import { modelViewOf, providerViewOf, sourceViewOf } from '../domain/views.js';
import type { CatalogStore, ObjectReads } from '../ports.js';

interface Views {
  readonly provider: ProviderView;
  readonly model: ModelView;
  readonly source: SourceView;
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
    return sourceViewOf(source, provider?.format, await reads.versions({ source: id }), reads.nowMs);
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
