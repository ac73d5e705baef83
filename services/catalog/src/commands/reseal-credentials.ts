import { providerCredentialPlace } from '@gateway/contracts/messages';
import { resealTo, SealError, type OpeningKeys } from '@gateway/service-kit';
import type { CatalogStore } from '../storage/store.js';

export interface ResealResult {
  readonly resealed: number;
  /**
   * Sources, and providers as `provider:<id>`, whose credential cannot be opened with the available
   * keys. The edge cannot use it either.
   */
  readonly unreadable: readonly string[];
}

/**
 * Seals credentials again to the current key after a rotation of the key pair. Credentials that no
 * available key opens are not changed.
 */
export async function resealCredentials(store: CatalogStore, keys: OpeningKeys): Promise<ResealResult> {
  return store.change(async (tx) => {
    const unreadable: string[] = [];
    /** Seals and saves the objects again, and returns their IDs. */
    const reseal = async <T extends { readonly id: string; readonly sealedCredential: string | null }>(
      objects: readonly T[],
      placeOf: (id: string) => string,
      save: (object: T) => Promise<void>,
    ): Promise<string[]> => {
      const resealed: string[] = [];
      for (const object of objects) {
        if (object.sealedCredential === null) continue;
        const place = placeOf(object.id);
        const sealedCredential = sealedToCurrent(object.sealedCredential, place, keys);
        if (sealedCredential === null) unreadable.push(place);
        if (sealedCredential === null || sealedCredential === object.sealedCredential) continue;
        await save({ ...object, sealedCredential });
        resealed.push(object.id);
      }
      return resealed;
    };
    const stored = await tx.withCredential();
    const providers = await reseal(stored.providers, providerCredentialPlace, (provider) => tx.saveProvider(provider));
    const sources = await reseal(
      stored.sources,
      (id) => id,
      (source) => tx.saveSource(source),
    );
    const resealed = providers.length + sources.length;
    if (resealed > 0)
      await tx.record({
        author: { actor: 'catalog', origin: null },
        action: 'reseal_credentials',
        objectId: 'sources',
        before: null,
        after: { sources, ...(providers.length > 0 ? { providers } : {}) },
      });
    return { resealed, unreadable };
  });
}

/** Returns null if no available key opens the credential for this place. */
function sealedToCurrent(sealed: string, place: string, keys: OpeningKeys): string | null {
  try {
    return resealTo(sealed, place, keys) ?? sealed;
  } catch (error) {
    if (error instanceof SealError) return null;
    throw error;
  }
}
