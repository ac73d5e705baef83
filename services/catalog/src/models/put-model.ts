import type { ReceivedOf, catalogPutModel } from '@gateway/contracts/messages';
import { isRefusal, refuse, type ManagementRefusal, type ModelView } from '@gateway/contracts/operator';
import { shownVersions, withVersion, type NewFigures, planFigures } from '../objects/version-rules.js';
import { leastExceedsWorst } from '../objects/price-rules.js';
import { modelOf } from '../objects/spec-rules.js';
import { sameContent, type SaveResult } from '../objects/rules.js';
import { modelViewOf } from '../objects/view-rules.js';
import type { CatalogTx } from '../storage/change-sql.js';
import { checkRoom, saveAlone, type SaveResponse, type SaveDeps } from '../objects/save.js';

export type PutModel = ReceivedOf<typeof catalogPutModel>;

/** Creates or replaces a model. Prices that differ from those in force become a new version. */
export function putModel(deps: SaveDeps, request: PutModel): Promise<SaveResponse<ModelView> | ManagementRefusal> {
  return saveAlone(deps, async (tx) => {
    const result = await saveModel(tx, request);
    return isRefusal(result) ? result : ((await checkRoom(tx, result)) ?? result);
  });
}

export async function saveModel(
  tx: CatalogTx,
  { id, spec, author }: PutModel,
): Promise<SaveResult<ModelView> | ManagementRefusal> {
  const before = await tx.model(id);
  const alias = before === null ? await tx.alias(id) : null;
  if (alias !== null)
    return refuse('state_conflict', `${id} is an alias of ${alias.model}; delete the alias first`, 'id');
  const after = modelOf(id, spec);
  const versions = before ? await tx.versions({ model: id }) : [];
  const planned = planFigures(spec.prices, versions, tx.nowMs, 'prices');
  if (planned && isRefusal(planned)) return planned;
  const shown = shownVersions<NewFigures>(planned ? withVersion(versions, planned) : versions, tx.nowMs);
  const unusable = checkBytesPerToken(after.bytesPerToken, shown);
  if (unusable) return unusable;
  const viewBefore = before && modelViewOf(before, versions, tx.nowMs);
  if (viewBefore && !planned && sameContent(before, after))
    return { change: 'unchanged', before: viewBefore, after: viewBefore, credentialChanged: false };
  await tx.saveModel(after);
  const added = planned && (await tx.addVersion({ model: id }, planned));
  const viewAfter = modelViewOf(after, added ? withVersion(versions, added) : versions, tx.nowMs);
  await tx.record({ author, action: 'put_model', objectId: id, before: viewBefore, after: viewAfter });
  return { change: before ? 'changed' : 'created', before: viewBefore, after: viewAfter, credentialChanged: false };
}

function checkBytesPerToken(bytesPerToken: number, versions: readonly NewFigures[]): ManagementRefusal | null {
  if (!versions.some(({ figures }) => figures !== null && leastExceedsWorst(bytesPerToken, figures))) return null;
  return refuse(
    'invalid_request',
    'with these prices the least cost of a call could exceed its worst case; set bytesPerToken to 8 or less',
    'bytesPerToken',
  );
}
