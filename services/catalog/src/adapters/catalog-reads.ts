import type { Tx } from '@gateway/postgres';
import type { CatalogReads } from '../ports.js';
import { changeFromRow, modelFromRow, providerFromRow, sourceFromRow } from './rows.js';
import type { ChangeRow, ModelRow, ProviderRow, SourceRow } from './rows.js';
import { placeOf, readVersions } from './version-tables.js';

/** Queries of one transaction. Ids are ordered byte by byte, so that a page goes on where the one before ended. */
export function makeCatalogReads(tx: Tx, nowMs: number): CatalogReads {
  return {
    nowMs,
    async provider(id) {
      const row = await tx.one<ProviderRow>('SELECT * FROM providers WHERE id = $1 AND deleted_at IS NULL', [id]);
      return row && providerFromRow(row);
    },
    async model(id) {
      const row = await tx.one<ModelRow>('SELECT * FROM models WHERE id = $1 AND deleted_at IS NULL', [id]);
      return row && modelFromRow(row);
    },
    async source(id) {
      const row = await tx.one<SourceRow>('SELECT * FROM sources WHERE id = $1 AND deleted_at IS NULL', [id]);
      return row && sourceFromRow(row);
    },
    async providers({ after, limit }) {
      return (await tx.query<ProviderRow>(pageText('providers'), [after, limit])).map(providerFromRow);
    },
    async models({ after, limit }) {
      return (await tx.query<ModelRow>(pageText('models'), [after, limit])).map(modelFromRow);
    },
    async sources({ after, limit, model }) {
      const text = pageText('sources', 'AND ($3::text IS NULL OR model = $3)');
      return (await tx.query<SourceRow>(text, [after, limit, model])).map(sourceFromRow);
    },
    async providersOf(ids) {
      const text = 'SELECT * FROM providers WHERE id = ANY ($1) AND deleted_at IS NULL';
      const rows = await tx.query<ProviderRow>(text, [ids]);
      return new Map(rows.map((row) => [row.id, providerFromRow(row)]));
    },
    async modelsOfSources(ids) {
      const text = 'SELECT id, model FROM sources WHERE id = ANY ($1) AND deleted_at IS NULL';
      const rows = await tx.query<Pick<SourceRow, 'id' | 'model'>>(text, [ids]);
      return new Map(rows.map(({ id, model }) => [id, model]));
    },
    async versions(priced) {
      const { of, owner } = placeOf(priced);
      return (await readVersions(tx, of, nowMs, [owner])).get(owner) ?? [];
    },
    versionsOf: (of, owners) => readVersions(tx, of, nowMs, owners),
    async changes({ after, limit, object }) {
      const text = `SELECT * FROM changes
         WHERE ($1::bigint IS NULL OR revision < $1) AND ($3::text IS NULL OR object_id = $3)
         ORDER BY revision DESC LIMIT $2`;
      return (await tx.query<ChangeRow>(text, [after, limit, object])).map(changeFromRow);
    },
  };
}

function pageText(table: 'providers' | 'models' | 'sources', condition = ''): string {
  return `SELECT * FROM ${table} WHERE deleted_at IS NULL AND ($1::text IS NULL OR id > $1) ${condition}
   ORDER BY id LIMIT $2`;
}
