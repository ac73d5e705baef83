import { resealTo, SealError, type OpeningKeys } from '@gateway/service-kit';
import type { CatalogStore } from '../objects/store.js';

export interface Resealed {
  readonly resealed: number;
  /** Sources whose credential no available key opens: the edge cannot use them. */
  readonly unreadable: readonly string[];
}

/**
 * After a rotation of the key pair: every credential that another key opens is sealed again to the
 * current one.
 */
export async function resealCredentials(store: CatalogStore, keys: OpeningKeys): Promise<Resealed> {
  return store.change(async (tx) => {
    const resealed: string[] = [];
    const unreadable: string[] = [];
    for (const source of await tx.withCredential()) {
      if (source.sealedCredential === null) continue;
      const sealedCredential = sealedToCurrent(source.sealedCredential, source.id, keys);
      if (sealedCredential === null) unreadable.push(source.id);
      if (sealedCredential === null || sealedCredential === source.sealedCredential) continue;
      await tx.saveSource({ ...source, sealedCredential });
      resealed.push(source.id);
    }
    if (resealed.length > 0)
      await tx.record({
        actor: 'catalog',
        action: 'reseal_credentials',
        objectId: 'sources',
        before: null,
        after: { sources: resealed },
      });
    return { resealed: resealed.length, unreadable };
  });
}

/** Null: no available key opens it for this source. */
function sealedToCurrent(sealed: string, source: string, keys: OpeningKeys): string | null {
  try {
    return resealTo(sealed, source, keys) ?? sealed;
  } catch (error) {
    if (error instanceof SealError) return null;
    throw error;
  }
}
