import { isRefusal } from '@gateway/contracts/operator';
import { inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import type { CatalogSnapshot } from '../objects/rules.js';
import { type CatalogReads, createCatalogReads } from './reads-sql.js';
import { createCatalogTx, type CatalogTx } from './change-sql.js';
import {
  aliasFromRow,
  modelFromRow,
  providerFromRow,
  sourceFromRow,
  type AliasRow,
  type ModelRow,
  type ProviderRow,
  type SourceRow,
} from './rows-sql.js';
import { readVersions } from './versions-sql.js';
import { createWorkingCopy, type DocumentTx } from './working-copy-store.js';

interface StateRow {
  readonly revision: bigint;
  readonly now: Date;
}

export type CatalogStore = ReturnType<typeof createCatalogStore>;

/** Creates access to the catalog in its schema. Changes are serialized. Reads do not wait. */
export function createCatalogStore(pool: Pool) {
  const queued = createQueue();
  return {
    /** Runs one change at a time. A refusal rolls back its earlier writes. */
    change: <T extends object>(work: (tx: CatalogTx) => Promise<T>): Promise<T> =>
      queued(() => underLock(pool, true, (tx, revision, nowMs) => work(createCatalogTx(tx, revision, nowMs)))),
    /** Runs one change of many objects. `keeps` false: everything is rolled back. */
    changeMany: <T extends object>(
      work: (tx: DocumentTx) => Promise<T>,
      { keeps }: { readonly keeps: boolean },
    ): Promise<T> =>
      queued(() =>
        underLock(pool, keeps, async (tx, revision, nowMs) => {
          const copy = createWorkingCopy(tx, { revision, nowMs, ...(await readObjects(tx, nowMs)) });
          const answer = await work(copy);
          if (!isRefusal(answer)) await copy.flush();
          return answer;
        }),
      ),
    read: <T>(work: (reads: CatalogReads) => Promise<T>): Promise<T> =>
      inTransaction(pool, (tx) => readAtOnce(tx, work), { isolation: 'repeatable read', readOnly: true }),
    /** Reads everything that is published, at one instant. */
    snapshot: (): Promise<CatalogSnapshot> =>
      inTransaction(pool, readSnapshot, { isolation: 'repeatable read', readOnly: true }),
    async revision(): Promise<number> {
      const state = await onPool(pool).one<{ revision: bigint }>('SELECT revision FROM catalog_state');
      return Number(state?.revision ?? 0n);
    },
    /** Raises the revision to this value, for a database older than the published catalog. */
    async raiseRevision(atLeast: number): Promise<void> {
      await onPool(pool).execute('UPDATE catalog_state SET revision = $1 WHERE revision < $1', [atLeast]);
    },
  };
}

/**
 * Creates a queue for the changes of one replica. They wait here and do not occupy connections that
 * readers and the publisher need.
 */
function createQueue(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
}

/** Rolls back a transaction whose work succeeded but must not be stored. */
class Rollback extends Error {
  override readonly name = 'TakenBack';
}

/** Commits the writes of `work`, unless it refuses or `keeps` is false. */
async function underLock<T extends object>(
  pool: Pool,
  keeps: boolean,
  work: (tx: Tx, revision: number, nowMs: number) => Promise<T>,
): Promise<T> {
  const taken: { answer?: T } = {};
  try {
    return await inTransaction(pool, async (tx) => {
      // The clock is read under the lock, so that a later change never gets an earlier time.
      const state = await tx.one<{ revision: bigint }>('SELECT revision FROM catalog_state FOR UPDATE');
      const clock = await tx.one<{ now: Date }>('SELECT clock_timestamp() AS now');
      if (!state || !clock) throw new Error('the catalog has no state row');
      const answer = await work(tx, Number(state.revision), clock.now.getTime());
      if (keeps && !isRefusal(answer)) return answer;
      taken.answer = answer;
      throw new Rollback();
    });
  } catch (error) {
    if (error instanceof Rollback && taken.answer) return taken.answer;
    throw error;
  }
}

async function readAtOnce<T>(tx: Tx, work: (reads: CatalogReads) => Promise<T>): Promise<T> {
  // now() is the time of BEGIN, before which versions committed since then have not begun.
  const clock = await tx.one<{ now: Date }>('SELECT clock_timestamp() AS now');
  if (!clock) throw new Error('the database has no clock');
  return work(createCatalogReads(tx, clock.now.getTime()));
}

async function readSnapshot(tx: Tx): Promise<CatalogSnapshot> {
  const state = await tx.one<StateRow>('SELECT revision, now() AS now FROM catalog_state');
  if (!state) throw new Error('the catalog has no state row');
  const nowMs = state.now.getTime();
  return { revision: Number(state.revision), nowMs, ...(await readObjects(tx, nowMs)) };
}

async function readObjects(tx: Tx, nowMs: number): Promise<Omit<CatalogSnapshot, 'revision' | 'nowMs'>> {
  const providers = await tx.query<ProviderRow>('SELECT * FROM providers WHERE deleted_at IS NULL ORDER BY id');
  const models = await tx.query<ModelRow>('SELECT * FROM models WHERE deleted_at IS NULL ORDER BY id');
  const sources = await tx.query<SourceRow>('SELECT * FROM sources WHERE deleted_at IS NULL ORDER BY id');
  const aliases = await tx.query<AliasRow>('SELECT * FROM aliases WHERE deleted_at IS NULL ORDER BY id');
  return {
    providers: providers.map(providerFromRow),
    models: models.map((row) => ({ ...modelFromRow(row), createdAt: row.created_at.getTime() })),
    sources: sources.map(sourceFromRow),
    aliases: aliases.map(aliasFromRow),
    prices: await readVersions(tx, 'prices', nowMs),
    costs: await readVersions(tx, 'costs', nowMs),
  };
}
