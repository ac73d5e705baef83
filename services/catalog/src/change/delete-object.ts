import { isRefusal, refuse, type ManagementRefusal } from '@gateway/contracts/operator';
import type { Kind, Named } from '../domain/objects.js';
import type { CatalogTx } from '../ports.js';
import { readView } from '../show/read-view.js';
import { awaitInForce } from './awaited.js';
import type { SavePorts } from './turn.js';

export interface DeleteObject extends Named {
  readonly actor: string;
}
export interface Deleted {
  readonly revision: number;
  readonly inForce: boolean;
}

/** Takes an object out of the catalog; its versions and the time of its creation stay. */
export async function deleteObject(ports: SavePorts, request: DeleteObject): Promise<Deleted | ManagementRefusal> {
  const deleted = await ports.store.change(async (tx) => {
    const turn = await removeObject(tx, request);
    return isRefusal(turn) ? turn : { revision: tx.revision() };
  });
  if (isRefusal(deleted)) return deleted;
  return { ...deleted, inForce: await awaitInForce(ports, deleted.revision) };
}

/** Answers how it was seen before. */
export async function removeObject(
  tx: CatalogTx,
  { kind, id, actor }: DeleteObject,
): Promise<{ readonly before: object } | ManagementRefusal> {
  const before = await readView(tx, kind, id);
  if (!before) return refuse('not_found', `there is no ${kind} ${id}`);
  const source = kind === 'source' ? null : await tx.sourceUsing(kind, id);
  if (source !== null) return refuse('in_use', `${kind} ${id} is used by source ${source}`);
  await tx.remove(kind, id);
  await tx.record({ actor, action: ACTIONS[kind], objectId: id, before, after: null });
  return { before };
}

const ACTIONS = {
  provider: 'delete_provider',
  model: 'delete_model',
  source: 'delete_source',
} as const satisfies Record<Kind, string>;
