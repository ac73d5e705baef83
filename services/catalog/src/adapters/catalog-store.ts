import { inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import type { CatalogSnapshot } from '../domain/objects.js';
import type { CatalogStore } from '../ports.js';
import { makeCatalogTx } from './catalog-tx.js';
import { modelFromRow, providerFromRow, sourceFromRow } from './rows.js';
import type { ModelRow, ProviderRow, SourceRow } from './rows.js';
import { readAllVersions } from './version-tables.js';

interface StateRow {
  readonly revision: bigint;
  readonly now: Date;
}

/** The catalog in its schema. Changes happen one at a time; reading waits for nobody. */
export function makeCatalogStore(pool: Pool): CatalogStore {
  return {
    change: (work) =>
      inTransaction(pool, async (tx) => {
        // The clock is read under the lock: a later change never gets an earlier time.
        const state = await tx.one<{ revision: bigint }>('SELECT revision FROM catalog_state FOR UPDATE');
        const clock = await tx.one<{ now: Date }>('SELECT clock_timestamp() AS now');
        if (!state || !clock) throw new Error('the catalog has no state row');
        return work(makeCatalogTx(tx, Number(state.revision), clock.now.getTime()));
      }),
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

async function readSnapshot(tx: Tx): Promise<CatalogSnapshot> {
  const state = await tx.one<StateRow>('SELECT revision, now() AS now FROM catalog_state');
  if (!state) throw new Error('the catalog has no state row');
  const nowMs = state.now.getTime();
  const providers = await tx.query<ProviderRow>('SELECT * FROM providers ORDER BY id');
  const models = await tx.query<ModelRow>('SELECT * FROM models ORDER BY id');
  const sources = await tx.query<SourceRow>('SELECT * FROM sources ORDER BY id');
  return {
    revision: Number(state.revision),
    nowMs,
    providers: providers.map(providerFromRow),
    models: models.map((row) => ({ ...modelFromRow(row), createdAt: row.created_at.getTime() })),
    sources: sources.map(sourceFromRow),
    prices: await readAllVersions(tx, 'prices', nowMs),
    costs: await readAllVersions(tx, 'costs', nowMs),
  };
}
