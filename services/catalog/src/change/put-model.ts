import { isRefusal, refuse, type ManagementRefusal, type ModelSpec, type ModelView } from '@gateway/contracts/operator';
import { shownVersions, withVersion, type NewFigures } from '../domain/dated-versions.js';
import { leastExceedsWorst } from '../domain/figures.js';
import { modelOf } from '../domain/from-spec.js';
import { sameContent } from '../domain/same-content.js';
import { modelViewOf } from '../domain/views.js';
import type { CatalogTx } from '../ports.js';
import { checkRoom } from './check-bounds.js';
import { planFigures } from './plan-figures.js';
import { saveAlone, type Saved, type SavePorts, type Turn } from './turn.js';

export interface PutModel {
  readonly id: string;
  readonly spec: ModelSpec;
  readonly actor: string;
}

/** Makes or replaces a model; other prices than those in force become a new version, never a changed one. */
export function putModel(ports: SavePorts, request: PutModel): Promise<Saved<ModelView> | ManagementRefusal> {
  return saveAlone(ports, async (tx) => {
    const turn = await saveModel(tx, request);
    return isRefusal(turn) ? turn : ((await checkRoom(tx, turn)) ?? turn);
  });
}

export async function saveModel(
  tx: CatalogTx,
  { id, spec, actor }: PutModel,
): Promise<Turn<ModelView> | ManagementRefusal> {
  const before = await tx.model(id);
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
  await tx.record({ actor, action: 'put_model', objectId: id, before: viewBefore, after: viewAfter });
  return { change: before ? 'changed' : 'created', before: viewBefore, after: viewAfter, credentialChanged: false };
}

function checkBytesPerToken(bytesPerToken: number, versions: readonly NewFigures[]): ManagementRefusal | null {
  if (!versions.some(({ figures }) => figures !== null && leastExceedsWorst(bytesPerToken, figures))) return null;
  return refuse(
    'invalid_request',
    'with these prices a call could cost more at least than at most; bytesPerToken up to 8 is always possible',
    'bytesPerToken',
  );
}
