import type { BodyOf, catalogPutProvider } from '@gateway/contracts/messages';
import type { ManagementRefusal, ProviderSpec } from '@gateway/contracts/operator';
import { providerOf } from '../domain/from-spec.js';
import { isRefusal } from '../domain/refusal.js';
import { sameContent } from '../domain/same-content.js';
import type { Announcer, CatalogStore } from '../ports.js';
import { awaitPublished, type Saved } from './save.js';
import { checkRoom } from './check-room.js';

export interface PutProviderPorts {
  readonly store: CatalogStore;
  readonly announcer: Announcer;
}
export type PutProvider = BodyOf<typeof catalogPutProvider> & { readonly spec: ProviderSpec };

/** Makes or replaces a provider. */
export async function putProvider(
  { store, announcer }: PutProviderPorts,
  { id, spec, actor }: PutProvider,
): Promise<Saved | ManagementRefusal> {
  const saved = await store.change(async (tx): Promise<Saved | ManagementRefusal> => {
    const before = await tx.provider(id);
    const after = providerOf(id, spec);
    if (before && sameContent(before, after)) return { change: 'unchanged', revision: tx.revision };
    const noRoom = before ? null : await checkRoom(tx);
    if (noRoom) return noRoom;
    await tx.saveProvider(after);
    const revision = await tx.record({ actor, action: 'put_provider', objectId: id, before, after });
    return { change: before ? 'changed' : 'created', revision };
  });
  return isRefusal(saved) ? saved : awaitPublished(announcer, saved);
}
