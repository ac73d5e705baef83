import { isRefusal, type ManagementRefusal, refuse } from '@gateway/contracts/operator';
import { SOURCES_PER_MODEL_MAX } from '@gateway/contracts/messages';
import type { CatalogStore } from './store.js';
import type { CatalogTx } from './change-sql.js';
import type { SaveResult } from './rules.js';

/** How a PUT is answered. */
export interface Saved<View> {
  readonly change: SaveResult<View>['change'];
  readonly revision: number;
  readonly inForce: boolean;
  readonly view: View;
}

export interface SaveDeps extends AwaitDeps {
  readonly store: CatalogStore;
}

/** Saves one object in its own transaction, then waits until that is in force. */
export async function saveAlone<View>(
  deps: SaveDeps,
  save: (tx: CatalogTx) => Promise<SaveResult<View> | ManagementRefusal>,
): Promise<Saved<View> | ManagementRefusal> {
  const saved = await deps.store.change(async (tx) => {
    const result = await save(tx);
    return isRefusal(result) ? result : { result, revision: tx.revision() };
  });
  if (isRefusal(saved)) return saved;
  const { result, revision } = saved;
  return { change: result.change, revision, inForce: await awaitInForce(deps, revision), view: result.after };
}

/**
 * How long an answer waits until the change is in the bucket; after that it is answered all the
 * same.
 */
export const PUBLISHED_WAIT_MS = 2_000;
/** The same for a document of up to a thousand objects. */
export const DOCUMENT_PUBLISHED_WAIT_MS = 5_000;
/** How long it then waits until every edge and admission that is alive decides by it. */
export const IN_FORCE_WAIT_MS = 3_000;

export interface AwaitDeps {
  readonly announcer: {
    announce(): void;
    /** The newest revision that this replica saw published; null before the first time. */
    revision(): number | null;
    /** Resolves when that revision is published, or with false after the time. Never rejects. */
    published(revision: number, timeoutMs: number): Promise<boolean>;
  };
  readonly followers: {
    /**
     * Whether all that are alive decide by this revision or a later one, or do within the time.
     * Never rejects.
     */
    haveAll(revision: number, timeoutMs: number): Promise<boolean>;
  };
}

/**
 * Announces a committed revision and answers whether it is in force everywhere; false: it will be,
 * without a hand.
 */
export async function awaitInForce(
  { announcer, followers }: AwaitDeps,
  revision: number,
  publishedWaitMs = PUBLISHED_WAIT_MS,
): Promise<boolean> {
  // Also what another replica changed: this one may not know yet that it is published.
  if ((announcer.revision() ?? -1) < revision) announcer.announce();
  if (!(await announcer.published(revision, publishedWaitMs))) return false;
  return followers.haveAll(revision, IN_FORCE_WAIT_MS);
}

/** Providers, models, sources and aliases together; the bus publishes at most 20,000 entries. */
export const OBJECTS_MAX = 19_000;

/** After a save: refuses a new object that makes the catalog larger than can be published. */
export async function checkRoom(
  tx: CatalogTx,
  { change }: { readonly change: string },
): Promise<ManagementRefusal | null> {
  if (change !== 'created' || (await tx.countObjects()) <= OBJECTS_MAX) return null;
  return refuse('state_conflict', `the catalog holds ${OBJECTS_MAX} objects, which is its largest size`);
}

/**
 * After saves: refuses a source whose model has no place for it. Null for one that was unchanged:
 * its place is old.
 */
export async function checkPlaces(
  tx: CatalogTx,
): Promise<(model: string, result: { readonly change: string }) => ManagementRefusal | null> {
  const crowded = await tx.crowdedModels(SOURCES_PER_MODEL_MAX);
  return (model, { change }) =>
    change !== 'unchanged' && crowded.has(model)
      ? refuse('state_conflict', `a model has at most ${SOURCES_PER_MODEL_MAX} sources`, 'modelId')
      : null;
}
