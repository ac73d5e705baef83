import type { Tx } from '@gateway/postgres';
import type { CatalogTx } from '../ports.js';
import { makeCatalogReads } from './catalog-reads.js';
import { sourceFromRow, type SourceRow } from './rows.js';
import { markDeleted, writeModels, writeProviders, writeRecords, writeSources, writeVersions } from './table-writes.js';
import { newVersion, placeOf } from './version-tables.js';

/** Queries of one change of a few objects. The caller holds the lock of the state row. */
export function makeCatalogTx(tx: Tx, revisionBefore: number, nowMs: number): CatalogTx {
  let revision = revisionBefore;
  return {
    ...makeCatalogReads(tx, nowMs),
    revision: () => revision,
    async withCredential() {
      const text = 'SELECT * FROM sources WHERE sealed_credential IS NOT NULL AND deleted_at IS NULL ORDER BY id';
      return (await tx.query<SourceRow>(text)).map(sourceFromRow);
    },
    async sourceUsing(kind, id) {
      const text = `SELECT min(id) AS id FROM sources WHERE ${kind} = $1 AND deleted_at IS NULL`;
      return (await tx.one<{ id: string | null }>(text, [id]))?.id ?? null;
    },
    async crowdedModels(sourcesMax) {
      const text = 'SELECT model FROM sources WHERE deleted_at IS NULL GROUP BY model HAVING count(*) > $1';
      return new Set((await tx.query<{ model: string }>(text, [sourcesMax])).map(({ model }) => model));
    },
    async countObjects() {
      const text = `SELECT ((SELECT count(*) FROM providers WHERE deleted_at IS NULL)
                          + (SELECT count(*) FROM models WHERE deleted_at IS NULL)
                          + (SELECT count(*) FROM sources WHERE deleted_at IS NULL))::int AS n`;
      return (await tx.one<{ n: number }>(text))?.n ?? 0;
    },
    saveProvider: (provider) => writeProviders(tx, [provider]),
    saveModel: (model) => writeModels(tx, [model]),
    saveSource: (source) => writeSources(tx, [source]),
    remove: (kind, id) => markDeleted(tx, kind, [id], nowMs),
    async addVersion(priced, figures) {
      const { of, owner } = placeOf(priced);
      const version = newVersion(of, figures);
      await writeVersions(tx, of, [{ ...version, owner }]);
      return version;
    },
    async record(change) {
      await writeRecords(tx, revision, [change]);
      revision += 1;
    },
  };
}
