import type { ReceivedOf, catalogPutProvider } from '@gateway/contracts/messages';
import { isRefusal, type ManagementRefusal, type ProviderView } from '@gateway/contracts/operator';
import { acceptCredential } from '../objects/accept-credential.js';
import { providerOf } from '../objects/spec-rules.js';
import { sameContent, type SaveResult } from '../objects/rules.js';
import { providerViewOf } from '../objects/view-rules.js';
import type { CatalogTx } from '../storage/change-sql.js';
import { checkRoom, saveAlone, type SaveResponse, type SaveDeps } from '../objects/save.js';

export type PutProvider = ReceivedOf<typeof catalogPutProvider>;

/** Creates or replaces a provider. */
export function putProvider(
  deps: SaveDeps,
  request: PutProvider,
): Promise<SaveResponse<ProviderView> | ManagementRefusal> {
  return saveAlone(deps, async (tx) => {
    const result = await saveProvider(tx, request);
    return isRefusal(result) ? result : ((await checkRoom(tx, result)) ?? result);
  });
}

export async function saveProvider(
  tx: CatalogTx,
  { id, spec, sealedCredential, author }: PutProvider,
): Promise<SaveResult<ProviderView> | ManagementRefusal> {
  const before = await tx.provider(id);
  const stored = before?.sealedCredential ?? null;
  const accepted = acceptCredential(sealedCredential, stored);
  if (isRefusal(accepted)) return accepted;
  const after = providerOf(id, spec, accepted.sealed);
  if (isRefusal(after)) return after;
  const credentialChanged = accepted.sealed !== stored;
  const views = { before: before && providerViewOf(before), after: providerViewOf(after), credentialChanged };
  if (before && sameContent(before, after)) return { change: 'unchanged', ...views };
  await tx.saveProvider(after);
  const shown = { ...views.after, ...(credentialChanged ? { credentialChanged } : {}) };
  await tx.record({ author, action: 'put_provider', objectId: id, before: views.before, after: shown });
  return { change: before ? 'changed' : 'created', ...views };
}
