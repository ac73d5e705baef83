import type { EntryAuthor } from '@gateway/contracts/messages';
import type { Tx } from '@gateway/postgres';
import { toWireFigures } from '../objects/price-rules.js';
import type { Alias, DatedFigures, Kind, Model, Provider, Source } from '../objects/rules.js';
import { versionTable } from './versions-sql.js';

export type ChangeAction =
  | 'put_provider'
  | 'put_model'
  | 'put_source'
  | 'put_alias'
  | 'delete_provider'
  | 'delete_model'
  | 'delete_source'
  | 'delete_alias'
  | 'propose_prices'
  | 'reseal_credentials';

export interface ChangeRecord {
  readonly author: EntryAuthor;
  readonly action: ChangeAction;
  readonly objectId: string;
  /** Views, which have no credentials. */
  readonly before: object | null;
  readonly after: object | null;
}

/** A version with the ID of its model or source. */
export type OwnedVersion = DatedFigures & { readonly owner: string };

/** Writes any number of rows in one statement. Deleted rows become present again. */
export async function writeProviders(tx: Tx, providers: readonly Provider[]): Promise<void> {
  const rows = providers.map(({ sealedCredential, ...provider }) => ({
    ...provider,
    sealed_credential: sealedCredential,
  }));
  await upsert(tx, 'providers', rows);
}

export async function writeModels(tx: Tx, models: readonly Model[]): Promise<void> {
  const rows = models.map((model) => ({
    id: model.id,
    display_name: model.displayName,
    active: model.active,
    available: model.available,
    kind: model.kind,
    context_length: model.contextLength,
    max_output_tokens: model.maxOutputTokens,
    bytes_per_token: model.bytesPerToken,
  }));
  await upsert(tx, 'models', rows);
}

export async function writeSources(tx: Tx, sources: readonly Source[]): Promise<void> {
  const rows = sources.map((source) => ({
    id: source.id,
    model: source.model,
    provider: source.provider,
    profile: source.profile,
    parameters: source.parameters,
    base_url: source.baseUrl,
    upstream_model: source.upstreamModel,
    endpoints: source.endpoints,
    paths: source.paths,
    auth: source.auth,
    sealed_credential: source.sealedCredential,
    headers: source.headers,
    forward_headers: source.forwardHeaders,
    betas: source.betas ?? [],
    betas_default: source.betas === null,
    priority: source.priority,
    weight: source.weight,
    enabled: source.enabled,
    stream_usage: source.streamUsage,
    cancel_stops_billing: source.cancelStopsBilling,
    total_extra: source.totalExtra,
    body: source.body,
    unpriced: source.unpriced,
    foreign_ids: source.foreignIds,
    free_tools: source.freeTools,
    attachments: source.attachments,
    reported_cost_at: source.reportedCostAt,
    limits: source.limits,
    quota: source.quota,
  }));
  await upsert(tx, 'sources', rows);
}

export async function writeAliases(tx: Tx, aliases: readonly Alias[]): Promise<void> {
  await upsert(tx, 'aliases', aliases);
}

export async function writeVersions(tx: Tx, of: 'prices' | 'costs', versions: readonly OwnedVersion[]): Promise<void> {
  const { table, owner } = versionTable(of);
  const columns = `version, ${owner}, effective_from, figures`;
  const rows = versions.map((version) => ({
    version: version.version,
    [owner]: version.owner,
    effective_from: new Date(version.effectiveFrom).toISOString(),
    figures: version.figures && toWireFigures(version.figures),
  }));
  await insert(tx, table, columns, rows);
}

/** Marks rows as deleted and removes their credentials. Existing versions no longer apply. */
export async function markDeleted(tx: Tx, kind: Kind, ids: readonly string[], nowMs: number): Promise<void> {
  if (ids.length > 0) await tx.execute(MARK_DELETED[kind], [ids, new Date(nowMs)]);
}

const MARK_DELETED: Readonly<Record<Kind, string>> = {
  provider: 'UPDATE providers SET deleted_at = $2, sealed_credential = NULL WHERE id = ANY ($1)',
  model: `UPDATE models o SET deleted_at = $2, ${endVersions('prices')} WHERE id = ANY ($1)`,
  source: `UPDATE sources o SET deleted_at = $2, sealed_credential = NULL, ${endVersions('costs')} WHERE id = ANY ($1)`,
  alias: 'UPDATE aliases SET deleted_at = $2 WHERE id = ANY ($1)',
};

function endVersions(of: 'prices' | 'costs'): string {
  const { table, owner } = versionTable(of);
  const newest = `(SELECT coalesce(max(v.ordinal), 0) FROM ${table} v WHERE v.${owner} = o.id)`;
  return `versions_after = greatest(o.versions_after, ${newest})`;
}

/** Writes one revision per record, beginning after `revisionBefore`. */
export async function writeRecords(tx: Tx, revisionBefore: number, records: readonly ChangeRecord[]): Promise<void> {
  if (records.length === 0) return;
  await tx.execute('UPDATE catalog_state SET revision = $1', [revisionBefore + records.length]);
  const rows = records.map(({ author: { actor, origin }, action, objectId, before, after }, index) => ({
    revision: revisionBefore + 1 + index,
    actor,
    action,
    object_id: objectId,
    before,
    after,
    client: origin?.client ?? null,
    agent: origin?.agent ?? null,
    request_id: origin?.requestId ?? null,
  }));
  await insert(tx, 'changes', 'revision, actor, action, object_id, before, after, client, agent, request_id', rows);
}

/** Inserts or updates rows. Names are this service's own, and all rows have the same columns. */
async function upsert(
  tx: Tx,
  table: 'providers' | 'models' | 'sources' | 'aliases',
  rows: readonly { id: string }[],
): Promise<void> {
  const columns = Object.keys(rows[0] ?? {});
  const changes = columns.filter((column) => column !== 'id').map((column) => `${column} = EXCLUDED.${column}`);
  const conflict = `ON CONFLICT (id) DO UPDATE SET ${changes.join(', ')}, deleted_at = NULL`;
  await insert(tx, table, columns.join(', '), rows, conflict);
}

async function insert(tx: Tx, table: string, columns: string, rows: readonly object[], conflict = ''): Promise<void> {
  if (rows.length === 0) return;
  await tx.execute(
    `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM jsonb_populate_recordset(NULL::${table}, $1) ${conflict}`,
    [JSON.stringify(rows)],
  );
}
