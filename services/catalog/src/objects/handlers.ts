import type { Bus } from '@gateway/bus';
import { catalogAudit, catalogDelete } from '@gateway/contracts/messages';
import { isRefusal, refuseCursor, type AuditEntryView, type ManagementRefusal } from '@gateway/contracts/operator';
import { CHANGES, counted, READS } from './answer.js';
import { deleteObject } from './delete-object.js';
import type { SaveDeps } from './save.js';
import type { CatalogStore } from '../storage/store.js';
import type { RecordedChange } from '../storage/rows-sql.js';
import { pageOf, placeOf, type PageOf, type PageRequest } from './page-rules.js';

const LIST = 'audit';

/** Returns one page of changes, newest first, of one object or all. */
export async function listChanges(
  store: CatalogStore,
  request: PageRequest & { readonly object: string | null },
): Promise<PageOf<AuditEntryView> | ManagementRefusal> {
  const from = placeOf(LIST, request);
  if (from && isRefusal(from)) return from;
  const after = from ? Number(from.place[0]) : null;
  if (after !== null && !Number.isSafeInteger(after)) return refuseCursor();
  const page = { after, limit: request.limit + 1, object: request.object };
  const found = await store.read((reads) => reads.changes(page));
  const place = ({ id }: AuditEntryView) => [id.slice(ID_PREFIX.length)];
  return pageOf(LIST, found.map(entryOf), request.limit, place);
}

const ID_PREFIX = 'catalog.';

function entryOf(change: RecordedChange): AuditEntryView {
  return {
    id: `${ID_PREFIX}${change.revision}`,
    at: change.at.toISOString(),
    actor: change.actor,
    action: change.action,
    accountId: null,
    objectId: change.objectId,
    before: change.before,
    after: change.after,
    origin: change.origin,
  };
}

/** Registers the handlers of requests about objects of all kinds. */
export function serveObjects(bus: Pick<Bus, 'serve'>, deps: SaveDeps): void {
  bus.serve(catalogDelete, (body) => counted(body.kind, deleteObject(deps, body), () => 'deleted'), CHANGES);
  bus.serve(catalogAudit, (body) => listChanges(deps.store, body), READS);
}
