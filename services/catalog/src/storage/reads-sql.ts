import type { Tx } from '@gateway/postgres';
import {
  aliasFromRow,
  changeFromRow,
  type AliasRow,
  modelFromRow,
  providerFromRow,
  sourceFromRow,
  type ChangeRow,
  type ModelRow,
  type ProviderRow,
  type SourceRow,
  type RecordedChange,
} from './rows-sql.js';
import { toVersionOwner, readVersions, type VersionsByOwner, type VersionOwner } from './versions-sql.js';
import { MESSAGES } from '../objects/price-rules.js';
import type { Alias, Model, Source, DatedFigures, Provider } from '../objects/rules.js';

/** One page: at most `limit` objects after the ID `after`. Null: from the first one. */
export interface Page<After> {
  readonly after: After | null;
  readonly limit: number;
}

export type CatalogReads = ReturnType<typeof createCatalogReads>;
/** Reads of objects at one instant, without deleted ones. */
export type ObjectReads = Pick<CatalogReads, 'nowMs' | 'provider' | 'model' | 'source' | 'alias' | 'versions'>;

/**
 * Creates the reads of one transaction. IDs are sorted by bytes, so that a page continues where the
 * previous one ended.
 */
export function createCatalogReads(tx: Tx, nowMs: number) {
  return {
    /** The database's time, epoch milliseconds, which is the same for all replicas. */
    nowMs,
    async provider(id: string): Promise<Provider | null> {
      const row = await tx.one<ProviderRow>('SELECT * FROM providers WHERE id = $1 AND deleted_at IS NULL', [id]);
      return row && providerFromRow(row);
    },
    async model(id: string): Promise<Model | null> {
      const row = await tx.one<ModelRow>('SELECT * FROM models WHERE id = $1 AND deleted_at IS NULL', [id]);
      return row && modelFromRow(row);
    },
    async source(id: string): Promise<Source | null> {
      const row = await tx.one<SourceRow>('SELECT * FROM sources WHERE id = $1 AND deleted_at IS NULL', [id]);
      return row && sourceFromRow(row);
    },
    async alias(id: string): Promise<Alias | null> {
      const row = await tx.one<AliasRow>('SELECT * FROM aliases WHERE id = $1 AND deleted_at IS NULL', [id]);
      return row && aliasFromRow(row);
    },
    async aliases({ after, limit }: Page<string>): Promise<Alias[]> {
      return (await tx.query<AliasRow>(pageText('aliases'), [after, limit])).map(aliasFromRow);
    },
    async providers({ after, limit }: Page<string>): Promise<Provider[]> {
      return (await tx.query<ProviderRow>(pageText('providers'), [after, limit])).map(providerFromRow);
    },
    async models({ after, limit }: Page<string>): Promise<Model[]> {
      return (await tx.query<ModelRow>(pageText('models'), [after, limit])).map(modelFromRow);
    },
    /** Returns sources of one model, or of all. */
    async sources({ after, limit, model }: Page<string> & { readonly model: string | null }): Promise<Source[]> {
      const text = pageText('sources', 'AND ($3::text IS NULL OR model = $3)');
      return (await tx.query<SourceRow>(text, [after, limit, model])).map(sourceFromRow);
    },
    async providersOf(ids: readonly string[]): Promise<ReadonlyMap<string, Provider>> {
      const text = 'SELECT * FROM providers WHERE id = ANY ($1) AND deleted_at IS NULL';
      const rows = await tx.query<ProviderRow>(text, [ids]);
      return new Map(rows.map((row) => [row.id, providerFromRow(row)]));
    },
    /** Returns the models of these sources, without deleted sources. */
    async modelsOfSources(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
      const text = 'SELECT id, model FROM sources WHERE id = ANY ($1) AND deleted_at IS NULL';
      const rows = await tx.query<Pick<SourceRow, 'id' | 'model'>>(text, [ids]);
      return new Map(rows.map(({ id, model }) => [id, model]));
    },
    /** Returns the models that a source, enabled or not, serves on the messages format. */
    async modelsOnMessages(ids: readonly string[]): Promise<string[]> {
      const text = `SELECT DISTINCT model FROM sources
         WHERE model = ANY ($1) AND $2 = ANY (endpoints) AND deleted_at IS NULL`;
      const rows = await tx.query<Pick<SourceRow, 'model'>>(text, [ids, MESSAGES]);
      return rows.map(({ model }) => model);
    },
    /** Returns the versions that `publishedVersions` needs. */
    async versions(priced: VersionOwner): Promise<readonly DatedFigures[]> {
      const { of, owner } = toVersionOwner(priced);
      return (await readVersions(tx, of, nowMs, [owner])).get(owner) ?? [];
    },
    versionsOf: (of: 'prices' | 'costs', owners: readonly string[]): Promise<VersionsByOwner> =>
      readVersions(tx, of, nowMs, owners),
    /** Returns changes before the revision `after`, newest first, of one object or all. */
    async changes(page: Page<number> & { readonly object: string | null }): Promise<RecordedChange[]> {
      const { after, limit, object } = page;
      const text = `SELECT * FROM changes
         WHERE ($1::bigint IS NULL OR revision < $1) AND ($3::text IS NULL OR object_id = $3)
         ORDER BY revision DESC LIMIT $2`;
      return (await tx.query<ChangeRow>(text, [after, limit, object])).map(changeFromRow);
    },
  };
}

function pageText(table: 'providers' | 'models' | 'sources' | 'aliases', condition = ''): string {
  return `SELECT * FROM ${table} WHERE deleted_at IS NULL AND ($1::text IS NULL OR id > $1) ${condition}
   ORDER BY id LIMIT $2`;
}
