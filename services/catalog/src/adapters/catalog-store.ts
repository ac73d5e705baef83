import { isRefusal } from '@gateway/contracts/operator';
import { inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import type { CatalogSnapshot } from '../domain/objects.js';
import type { CatalogReads, CatalogStore } from '../ports.js';
import { makeCatalogReads } from './catalog-reads.js';
import { makeCatalogTx } from './catalog-tx.js';
import { modelFromRow, providerFromRow, sourceFromRow } from './rows.js';
import type { ModelRow, ProviderRow, SourceRow } from './rows.js';
import { readVersions } from './version-tables.js';
import { makeWorkingCopy } from './working-copy.js';

interface StateRow {
  readonly revision: bigint;
  readonly now: Date;
}

/** The catalog in its schema. Changes happen one at a time; reading waits for nobody. */
export function makeCatalogStore(pool: Pool): CatalogStore {
  const inTurn = makeTurns();
  return {
    change: (work) =>
      inTurn(() => underLock(pool, true, (tx, revision, nowMs) => work(makeCatalogTx(tx, revision, nowMs)))),
    changeMany: (work, { keeps }) =>
      inTurn(() =>
        underLock(pool, keeps, async (tx, revision, nowMs) => {
          const copy = makeWorkingCopy(tx, { revision, nowMs, ...(await readObjects(tx, nowMs)) });
          const answer = await work(copy);
          if (!isRefusal(answer)) await copy.flush();
          return answer;
        }),
      ),
    read: (work) => inTransaction(pool, (tx) => readAtOnce(tx, work), { isolation: 'repeatable read', readOnly: true }),
    snapshot: () => inTransaction(pool, readSnapshot, { isolation: 'repeatable read', readOnly: true }),
    async revision() {
      const state = await onPool(pool).one<{ revision: bigint }>('SELECT revision FROM catalog_state');
      return Number(state?.revision ?? 0n);
    },
    async raiseRevision(atLeast) {
      await onPool(pool).execute('UPDATE catalog_state SET revision = $1 WHERE revision < $1', [atLeast]);
    },
  };
}

/** Changes of one replica wait here, not on connections that readers and the publisher need. */
function makeTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
}

/** Ends a transaction whose work went well and shall not stay. */
class TakenBack extends Error {
  override readonly name = 'TakenBack';
}

/** What `work` wrote stays unless it is refused, or shall not be kept. */
async function underLock<T extends object>(
  pool: Pool,
  keeps: boolean,
  work: (tx: Tx, revision: number, nowMs: number) => Promise<T>,
): Promise<T> {
  const taken: { answer?: T } = {};
  try {
    return await inTransaction(pool, async (tx) => {
      // The clock is read under the lock: a later change never gets an earlier time.
      const state = await tx.one<{ revision: bigint }>('SELECT revision FROM catalog_state FOR UPDATE');
      const clock = await tx.one<{ now: Date }>('SELECT clock_timestamp() AS now');
      if (!state || !clock) throw new Error('the catalog has no state row');
      const answer = await work(tx, Number(state.revision), clock.now.getTime());
      if (keeps && !isRefusal(answer)) return answer;
      taken.answer = answer;
      throw new TakenBack();
    });
  } catch (error) {
    if (error instanceof TakenBack && taken.answer) return taken.answer;
    throw error;
  }
}

async function readAtOnce<T>(tx: Tx, work: (reads: CatalogReads) => Promise<T>): Promise<T> {
  // Not the time of BEGIN: what this first query sees committed has begun.
  const clock = await tx.one<{ now: Date }>('SELECT clock_timestamp() AS now');
  if (!clock) throw new Error('the database has no clock');
  return work(makeCatalogReads(tx, clock.now.getTime()));
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
  return {
    providers: providers.map(providerFromRow),
    models: models.map((row) => ({ ...modelFromRow(row), createdAt: row.created_at.getTime() })),
    sources: sources.map(sourceFromRow),
    prices: await readVersions(tx, 'prices', nowMs),
    costs: await readVersions(tx, 'costs', nowMs),
  };
}
