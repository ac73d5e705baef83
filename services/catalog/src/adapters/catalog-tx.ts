import type { Tx } from '@gateway/postgres';
import type { CatalogTx } from '../ports.js';
import { modelFromRow, providerFromRow, sourceFromRow } from './rows.js';
import type { ModelRow, ProviderRow, SourceRow } from './rows.js';
import { insertVersion, readVersions } from './version-tables.js';

/** Queries of one change. The caller holds the lock of the state row. */
export function makeCatalogTx(tx: Tx, revision: number, nowMs: number): CatalogTx {
  return {
    nowMs,
    revision,
    async provider(id) {
      const row = await tx.one<ProviderRow>('SELECT * FROM providers WHERE id = $1', [id]);
      return row && providerFromRow(row);
    },
    async model(id) {
      const row = await tx.one<ModelRow>('SELECT * FROM models WHERE id = $1', [id]);
      return row && modelFromRow(row);
    },
    async source(id) {
      const row = await tx.one<SourceRow>('SELECT * FROM sources WHERE id = $1', [id]);
      return row && sourceFromRow(row);
    },
    async sources() {
      return (await tx.query<SourceRow>('SELECT * FROM sources ORDER BY id')).map(sourceFromRow);
    },
    async countOtherSources(model, source) {
      const text = 'SELECT count(*)::int AS n FROM sources WHERE model = $1 AND id <> $2';
      return (await tx.one<{ n: number }>(text, [model, source]))?.n ?? 0;
    },
    async countObjects() {
      const text = `SELECT ((SELECT count(*) FROM providers) + (SELECT count(*) FROM models)
                          + (SELECT count(*) FROM sources))::int AS n`;
      return (await tx.one<{ n: number }>(text))?.n ?? 0;
    },
    saveProvider: (provider) => upsert(tx, 'providers', { ...provider }),
    saveModel: (model) =>
      upsert(tx, 'models', {
        id: model.id,
        display_name: model.displayName,
        active: model.active,
        available: model.available,
        kind: model.kind,
        context_length: model.contextLength,
        max_output_tokens: model.maxOutputTokens,
        bytes_per_token: model.bytesPerToken,
      }),
    saveSource: (source) =>
      upsert(tx, 'sources', {
        id: source.id,
        model: source.model,
        provider: source.provider,
        base_url: source.baseUrl,
        upstream_model: source.upstreamModel,
        endpoints: source.endpoints,
        paths: JSON.stringify(source.paths),
        auth: source.auth && JSON.stringify(source.auth),
        sealed_credential: source.sealedCredential,
        headers: JSON.stringify(source.headers),
        betas: JSON.stringify(source.betas),
        priority: source.priority,
        weight: source.weight,
        enabled: source.enabled,
        stream_usage: source.streamUsage,
        cancel_stops_billing: source.cancelStopsBilling,
        limits: JSON.stringify(source.limits),
      }),
    versions: (owner) => readVersions(tx, owner, nowMs),
    addVersion: (owner, figures) => insertVersion(tx, owner, figures),
    async record({ actor, action, objectId, before, after }) {
      await tx.execute('UPDATE catalog_state SET revision = $1', [revision + 1]);
      await tx.execute(
        'INSERT INTO changes (revision, actor, action, object_id, before, after) VALUES ($1, $2, $3, $4, $5, $6)',
        [revision + 1, actor, action, objectId, before && JSON.stringify(before), after && JSON.stringify(after)],
      );
      return revision + 1;
    },
  };
}

/** Table and columns are this file's own names. */
async function upsert(tx: Tx, table: string, row: Readonly<Record<string, unknown>>): Promise<void> {
  const columns = Object.keys(row);
  const places = columns.map((_column, index) => `$${index + 1}`);
  const changes = columns.filter((column) => column !== 'id').map((column) => `${column} = EXCLUDED.${column}`);
  await tx.execute(
    `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places.join(', ')})
     ON CONFLICT (id) DO UPDATE SET ${changes.join(', ')}`,
    Object.values(row),
  );
}
