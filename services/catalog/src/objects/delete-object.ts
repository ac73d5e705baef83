import type { CommandAuthor } from '@gateway/contracts/messages';
import { isRefusal, refuse, type ManagementRefusal } from '@gateway/contracts/operator';
import type { Kind, ObjectKey } from './rules.js';
import type { CatalogTx } from '../storage/change-sql.js';
import { readView } from './read-objects.js';
import { awaitInForce, type SaveDeps } from './save.js';

export interface DeleteObject extends ObjectKey {
  readonly author: CommandAuthor;
}
export interface DeleteResult {
  readonly revision: number;
  readonly inForce: boolean;
}

/** Deletes an object from the catalog. Its versions and its creation time are kept. */
export async function deleteObject(deps: SaveDeps, request: DeleteObject): Promise<DeleteResult | ManagementRefusal> {
  const deleted = await deps.store.change(async (tx) => {
    const result = await removeObject(tx, request);
    return isRefusal(result) ? result : { revision: tx.revision() };
  });
  if (isRefusal(deleted)) return deleted;
  return { ...deleted, inForce: await awaitInForce(deps, deleted.revision) };
}

/** Removes an object and returns its previous view. */
export async function removeObject(
  tx: CatalogTx,
  { kind, id, author }: DeleteObject,
): Promise<{ readonly before: object } | ManagementRefusal> {
  const before = await readView(tx, kind, id);
  if (!before) return refuse('not_found', `there is no ${kind} ${id}`);
  const source = kind === 'provider' || kind === 'model' ? await tx.sourceUsing(kind, id) : null;
  if (source !== null) return refuse('in_use', `${kind} ${id} is used by source ${source}`);
  const alias = kind === 'model' ? await tx.aliasOf(id) : null;
  if (alias !== null) return refuse('in_use', `model ${id} is used by alias ${alias}`);
  await tx.remove(kind, id);
  await tx.record({ author, action: ACTIONS[kind], objectId: id, before, after: null });
  return { before };
}

const ACTIONS = {
  provider: 'delete_provider',
  model: 'delete_model',
  source: 'delete_source',
  alias: 'delete_alias',
} as const satisfies Record<Kind, string>;
