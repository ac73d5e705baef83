import { isRefusal, type ManagementRefusal, type ProviderSpec, type ProviderView } from '@gateway/contracts/operator';
import { providerOf } from '../objects/spec-rules.js';
import { sameContent, type SaveResult } from '../objects/rules.js';
import { providerViewOf } from '../objects/view-rules.js';
import type { CatalogTx } from '../objects/change-sql.js';
import { checkRoom, saveAlone, type Saved, type SaveDeps } from '../objects/save.js';

export interface PutProvider {
  readonly id: string;
  readonly spec: ProviderSpec;
  readonly actor: string;
}

/** Makes or replaces a provider. */
export function putProvider(deps: SaveDeps, request: PutProvider): Promise<Saved<ProviderView> | ManagementRefusal> {
  return saveAlone(deps, async (tx) => {
    const result = await saveProvider(tx, request);
    return isRefusal(result) ? result : ((await checkRoom(tx, result)) ?? result);
  });
}

export async function saveProvider(
  tx: CatalogTx,
  { id, spec, actor }: PutProvider,
): Promise<SaveResult<ProviderView> | ManagementRefusal> {
  const before = await tx.provider(id);
  const after = providerOf(id, spec);
  const views = { before: before && providerViewOf(before), after: providerViewOf(after), credentialChanged: false };
  if (before && sameContent(before, after)) return { change: 'unchanged', ...views };
  await tx.saveProvider(after);
  await tx.record({ actor, action: 'put_provider', objectId: id, before: views.before, after: views.after });
  return { change: before ? 'changed' : 'created', ...views };
}
