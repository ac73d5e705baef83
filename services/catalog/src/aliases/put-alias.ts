import type { ReceivedOf, catalogPutAlias } from '@gateway/contracts/messages';
import { ALIASES_MAX, isRefusal, refuse, type AliasView, type ManagementRefusal } from '@gateway/contracts/operator';
import type { CatalogTx } from '../storage/change-sql.js';
import { sameContent, type Alias, type SaveResult } from '../objects/rules.js';
import { checkRoom, saveAlone, type SaveResponse, type SaveDeps } from '../objects/save.js';
import { aliasViewOf } from '../objects/view-rules.js';

export type PutAlias = ReceivedOf<typeof catalogPutAlias>;

/** Creates or replaces an alias. */
export function putAlias(deps: SaveDeps, request: PutAlias): Promise<SaveResponse<AliasView> | ManagementRefusal> {
  return saveAlone(deps, async (tx) => {
    const result = await saveAlias(tx, request);
    if (isRefusal(result)) return result;
    return (await checkAliasRoom(tx)) ?? (await checkRoom(tx, result)) ?? result;
  });
}

/**
 * Saves an alias without checking the number of aliases. It must name a model, so an alias never
 * leads to another alias.
 */
export async function saveAlias(
  tx: CatalogTx,
  { id, spec, author }: PutAlias,
): Promise<SaveResult<AliasView> | ManagementRefusal> {
  if (await tx.model(id)) return refuse('state_conflict', `${id} is the ID of a model`, 'id');
  if (!(await tx.model(spec.modelId))) return refuse('not_found', `there is no model ${spec.modelId}`, 'modelId');
  const before = await tx.alias(id);
  const after: Alias = { id, model: spec.modelId };
  const views = { before: before && aliasViewOf(before), after: aliasViewOf(after), credentialChanged: false };
  if (before && sameContent(before, after)) return { change: 'unchanged', ...views };
  await tx.saveAlias(after);
  await tx.record({ author, action: 'put_alias', objectId: id, before: views.before, after: views.after });
  return { change: before ? 'changed' : 'created', ...views };
}

/** Refuses more than {@link ALIASES_MAX} aliases, after saves. */
export async function checkAliasRoom(tx: CatalogTx): Promise<ManagementRefusal | null> {
  if ((await tx.countAliases()) <= ALIASES_MAX) return null;
  return refuse('state_conflict', `the catalog has at most ${ALIASES_MAX} aliases`);
}
