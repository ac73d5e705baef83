import { SOURCES_PER_MODEL_MAX } from '@gateway/contracts/messages';
import { refuse, type ManagementRefusal } from '@gateway/contracts/operator';
import type { CatalogTx } from '../ports.js';

/** Providers, models and sources together; the bus publishes at most 20,000 entries. */
export const OBJECTS_MAX = 19_000;

/** After a save: refuses a new object that makes the catalog larger than can be published. */
export async function checkRoom(
  tx: CatalogTx,
  { change }: { readonly change: string },
): Promise<ManagementRefusal | null> {
  if (change !== 'created' || (await tx.countObjects()) <= OBJECTS_MAX) return null;
  return refuse('state_conflict', `the catalog holds ${OBJECTS_MAX} objects, which is its largest size`);
}

/** After saves: refuses a source whose model has no place for it. Null for one that was unchanged: its place is old. */
export async function checkPlaces(
  tx: CatalogTx,
): Promise<(model: string, turn: { readonly change: string }) => ManagementRefusal | null> {
  const crowded = await tx.crowdedModels(SOURCES_PER_MODEL_MAX);
  return (model, { change }) =>
    change !== 'unchanged' && crowded.has(model)
      ? refuse('state_conflict', `a model has at most ${SOURCES_PER_MODEL_MAX} sources`, 'modelId')
      : null;
}
