import { isRefusal, type ManagementRefusal, refuse } from '@gateway/contracts/operator';
import { SOURCES_PER_MODEL_MAX } from '@gateway/contracts/messages';
import type { CatalogStore } from '../storage/store.js';
import type { CatalogTx } from '../storage/change-sql.js';
import type { SaveResult } from './rules.js';

export interface SaveResponse<View> {
  readonly change: SaveResult<View>['change'];
  readonly revision: number;
  readonly inForce: boolean;
  readonly view: View;
}

export interface SaveDeps extends AwaitDeps {
  readonly store: CatalogStore;
}

/** Saves one object in its own transaction, then waits until the change is in force. */
export async function saveAlone<View>(
  deps: SaveDeps,
  save: (tx: CatalogTx) => Promise<SaveResult<View> | ManagementRefusal>,
): Promise<SaveResponse<View> | ManagementRefusal> {
  const saved = await deps.store.change(async (tx) => {
    const result = await save(tx);
    return isRefusal(result) ? result : { result, revision: tx.revision() };
  });
  if (isRefusal(saved)) return saved;
  const { result, revision } = saved;
  return { change: result.change, revision, inForce: await awaitInForce(deps, revision), view: result.after };
}

/** Maximum time that a response waits for the publication of the change. */
export const PUBLISHED_WAIT_MS = 2_000;
/** Maximum time that the response of a document with up to a thousand objects waits. */
export const DOCUMENT_PUBLISHED_WAIT_MS = 5_000;
/** Maximum time that a response then waits until all live replicas use the change. */
export const IN_FORCE_WAIT_MS = 3_000;

export interface AwaitDeps {
  readonly announcer: {
    announce(): void;
    /** The newest revision that this replica saw published. Null before the first publication. */
    revision(): number | null;
    /** Waits until the revision is published. Returns false after the timeout. Never rejects. */
    published(revision: number, timeoutMs: number): Promise<boolean>;
  };
  readonly followers: {
    /**
     * Whether all live replicas use this revision or a later one, at the latest after the timeout.
     * Never rejects.
     */
    haveAll(revision: number, timeoutMs: number): Promise<boolean>;
  };
}

/**
 * Announces a committed revision and returns whether it is in force everywhere. False: it will be
 * later, without another command.
 */
export async function awaitInForce(
  { announcer, followers }: AwaitDeps,
  revision: number,
  publishedWaitMs = PUBLISHED_WAIT_MS,
): Promise<boolean> {
  // Includes a change of another replica, whose publication this one may not know.
  if ((announcer.revision() ?? -1) < revision) announcer.announce();
  if (!(await announcer.published(revision, publishedWaitMs))) return false;
  return followers.haveAll(revision, IN_FORCE_WAIT_MS);
}

/**
 * Maximum number of providers, models, sources and aliases together. The bus publishes at most
 * 20,000 entries.
 */
export const OBJECTS_MAX = 19_000;

/** Refuses a new object that makes the catalog too large to publish, after a save. */
export async function checkRoom(
  tx: CatalogTx,
  { change }: { readonly change: string },
): Promise<ManagementRefusal | null> {
  if (change !== 'created' || (await tx.countObjects()) <= OBJECTS_MAX) return null;
  return refuse('state_conflict', `the catalog holds ${OBJECTS_MAX} objects, which is its largest size`);
}

/** Refuses a source above its model's maximum, after saves. An unchanged source is not refused. */
export async function checkPlaces(
  tx: CatalogTx,
): Promise<(model: string, result: { readonly change: string }) => ManagementRefusal | null> {
  const crowded = await tx.crowdedModels(SOURCES_PER_MODEL_MAX);
  return (model, { change }) =>
    change !== 'unchanged' && crowded.has(model)
      ? refuse('state_conflict', `a model has at most ${SOURCES_PER_MODEL_MAX} sources`, 'modelId')
      : null;
}
