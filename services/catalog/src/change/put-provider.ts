import { isRefusal, type ManagementRefusal, type ProviderSpec, type ProviderView } from '@gateway/contracts/operator';
import { providerOf } from '../domain/from-spec.js';
import { sameContent } from '../domain/same-content.js';
import { providerViewOf } from '../domain/views.js';
import type { CatalogTx } from '../ports.js';
import { checkRoom } from './check-bounds.js';
import { saveAlone, type Saved, type SavePorts, type Turn } from './turn.js';

export interface PutProvider {
  readonly id: string;
  readonly spec: ProviderSpec;
  readonly actor: string;
}

/** Makes or replaces a provider. */
export function putProvider(ports: SavePorts, request: PutProvider): Promise<Saved<ProviderView> | ManagementRefusal> {
  return saveAlone(ports, async (tx) => {
    const turn = await saveProvider(tx, request);
    return isRefusal(turn) ? turn : ((await checkRoom(tx, turn)) ?? turn);
  });
}

export async function saveProvider(
  tx: CatalogTx,
  { id, spec, actor }: PutProvider,
): Promise<Turn<ProviderView> | ManagementRefusal> {
  const before = await tx.provider(id);
  const after = providerOf(id, spec);
  const views = { before: before && providerViewOf(before), after: providerViewOf(after), credentialChanged: false };
  if (before && sameContent(before, after)) return { change: 'unchanged', ...views };
  await tx.saveProvider(after);
  await tx.record({ actor, action: 'put_provider', objectId: id, before: views.before, after: views.after });
  return { change: before ? 'changed' : 'created', ...views };
}
