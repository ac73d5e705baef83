import type { Tx } from '@gateway/postgres';
import { createCatalogReads, type ObjectReads } from './reads-sql.js';
import { providerFromRow, sourceFromRow, type ProviderRow, type SourceRow } from './rows-sql.js';
import {
  markDeleted,
  writeAliases,
  writeModels,
  writeProviders,
  writeRecords,
  writeSources,
  writeVersions,
  type ChangeRecord,
} from './writes-sql.js';
import { newVersion, toVersionOwner, type VersionOwner } from './versions-sql.js';
import type { Alias, Model, Source, Kind, DatedFigures, Provider } from '../objects/rules.js';
import type { NewFigures } from '../objects/version-rules.js';

/** One change under the catalog's lock, so that reads stay valid until it commits. */
export interface CatalogTx extends ObjectReads {
  /** The revision before this change, then that of its newest record. */
  revision(): number;
  /** Returns the providers and sources with their own credential. */
  withCredential(): Promise<{ readonly providers: Provider[]; readonly sources: Source[] }>;
  /** Returns a source that refers to this provider or model. Null: none. */
  sourceUsing(kind: 'provider' | 'model', id: string): Promise<string | null>;
  /** Returns an alias of this model. Null: none. */
  aliasOf(model: string): Promise<string | null>;
  countAliases(): Promise<number>;
  /** Returns the models with more than `sourcesMax` sources. */
  crowdedModels(sourcesMax: number): Promise<ReadonlySet<string>>;
  countObjects(): Promise<number>;
  saveProvider(provider: Provider): Promise<void>;
  saveModel(model: Model): Promise<void>;
  saveSource(source: Source): Promise<void>;
  saveAlias(alias: Alias): Promise<void>;
  /** Marks an object as deleted without its credential. Existing versions no longer apply. */
  remove(kind: Kind, id: string): Promise<void>;
  addVersion(owner: VersionOwner, figures: NewFigures): Promise<DatedFigures>;
  /** Increases the revision and records the author and the change. */
  record(change: ChangeRecord): Promise<void>;
}

/** Creates the queries of a change of a few objects. The caller holds the lock of the state row. */
export function createCatalogTx(tx: Tx, revisionBefore: number, nowMs: number): CatalogTx {
  let revision = revisionBefore;
  return {
    ...createCatalogReads(tx, nowMs),
    revision: () => revision,
    async withCredential() {
      const text = (table: string): string =>
        `SELECT * FROM ${table} WHERE sealed_credential IS NOT NULL AND deleted_at IS NULL ORDER BY id`;
      const providers = (await tx.query<ProviderRow>(text('providers'))).map(providerFromRow);
      return { providers, sources: (await tx.query<SourceRow>(text('sources'))).map(sourceFromRow) };
    },
    async sourceUsing(kind, id) {
      const text = `SELECT min(id) AS id FROM sources WHERE ${kind} = $1 AND deleted_at IS NULL`;
      return (await tx.one<{ id: string | null }>(text, [id]))?.id ?? null;
    },
    async aliasOf(model) {
      const text = 'SELECT min(id) AS id FROM aliases WHERE model = $1 AND deleted_at IS NULL';
      return (await tx.one<{ id: string | null }>(text, [model]))?.id ?? null;
    },
    async countAliases() {
      const text = 'SELECT count(*)::int AS n FROM aliases WHERE deleted_at IS NULL';
      return (await tx.one<{ n: number }>(text))?.n ?? 0;
    },
    async crowdedModels(sourcesMax) {
      const text = 'SELECT model FROM sources WHERE deleted_at IS NULL GROUP BY model HAVING count(*) > $1';
      return new Set((await tx.query<{ model: string }>(text, [sourcesMax])).map(({ model }) => model));
    },
    async countObjects() {
      const text = `SELECT ((SELECT count(*) FROM providers WHERE deleted_at IS NULL)
                          + (SELECT count(*) FROM models WHERE deleted_at IS NULL)
                          + (SELECT count(*) FROM sources WHERE deleted_at IS NULL)
                          + (SELECT count(*) FROM aliases WHERE deleted_at IS NULL))::int AS n`;
      return (await tx.one<{ n: number }>(text))?.n ?? 0;
    },
    saveProvider: (provider) => writeProviders(tx, [provider]),
    saveModel: (model) => writeModels(tx, [model]),
    saveSource: (source) => writeSources(tx, [source]),
    saveAlias: (alias) => writeAliases(tx, [alias]),
    remove: (kind, id) => markDeleted(tx, kind, [id], nowMs),
    async addVersion(priced, figures) {
      const { of, owner } = toVersionOwner(priced);
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
