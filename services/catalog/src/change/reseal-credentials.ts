import type { CatalogStore, CredentialSeal } from '../ports.js';

export interface Resealed {
  readonly resealed: number;
  /** Sources whose credential no key at hand opens: the edge cannot use them. */
  readonly unreadable: readonly string[];
}

/** After a rotation of the key: every credential under the previous key is sealed again under the current one. */
export async function resealCredentials(store: CatalogStore, seal: CredentialSeal): Promise<Resealed> {
  return store.change(async (tx) => {
    const resealed: string[] = [];
    const unreadable: string[] = [];
    for (const source of await tx.withCredential()) {
      if (source.sealedCredential === null) continue;
      const sealedCredential = seal.current(source.sealedCredential, source.id);
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
