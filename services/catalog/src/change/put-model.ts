import type { ManagementRefusal, ModelSpec } from '@gateway/contracts/operator';
import { shownVersions, withVersion, type NewFigures } from '../domain/dated-versions.js';
import { leastExceedsWorst, toWireFigures } from '../domain/figures.js';
import { modelOf } from '../domain/from-spec.js';
import { isRefusal, refuse } from '../domain/refusal.js';
import { sameContent } from '../domain/same-content.js';
import type { Announcer, CatalogStore } from '../ports.js';
import { checkRoom } from './check-room.js';
import { planFigures } from './plan-figures.js';
import { awaitPublished, type Saved } from './save.js';

export interface PutModelPorts {
  readonly store: CatalogStore;
  readonly announcer: Announcer;
}
export interface PutModel {
  readonly id: string;
  readonly spec: ModelSpec;
  readonly actor: string;
}

/** Makes or replaces a model; other prices than those in force become a new version, never a changed one. */
export async function putModel(
  { store, announcer }: PutModelPorts,
  { id, spec, actor }: PutModel,
): Promise<Saved | ManagementRefusal> {
  const saved = await store.change(async (tx): Promise<Saved | ManagementRefusal> => {
    const before = await tx.model(id);
    const after = modelOf(id, spec);
    const versions = before ? await tx.versions({ model: id }) : [];
    const added = planFigures(spec.prices, versions, tx.nowMs, 'prices');
    if (added && isRefusal(added)) return added;
    const planned = shownVersions<NewFigures>(added ? withVersion(versions, added) : versions, tx.nowMs);
    const unusable = checkBytesPerToken(after.bytesPerToken, planned);
    if (unusable) return unusable;
    if (before && !added && sameContent(before, after)) return { change: 'unchanged', revision: tx.revision };
    const noRoom = before ? null : await checkRoom(tx);
    if (noRoom) return noRoom;
    await tx.saveModel(after);
    if (added) await tx.addVersion({ model: id }, added);
    const revision = await tx.record({
      actor,
      action: 'put_model',
      objectId: id,
      before,
      after: added ? { ...after, prices: recorded(added) } : after,
    });
    return { change: before ? 'changed' : 'created', revision };
  });
  return isRefusal(saved) ? saved : awaitPublished(announcer, saved);
}

function checkBytesPerToken(bytesPerToken: number, versions: readonly NewFigures[]): ManagementRefusal | null {
  if (!versions.some(({ figures }) => figures !== null && leastExceedsWorst(bytesPerToken, figures))) return null;
  return refuse(
    'invalid_request',
    'with these prices a call could cost more at least than at most; bytesPerToken up to 8 is always possible',
    'bytesPerToken',
  );
}

/** A new version as it stands in the record of changes. */
export function recorded({ effectiveFrom, figures }: NewFigures): object {
  return { effectiveFrom: new Date(effectiveFrom).toISOString(), figures: figures && toWireFigures(figures) };
}
