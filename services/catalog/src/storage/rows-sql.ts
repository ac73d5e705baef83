import type { AuditEntryView } from '@gateway/contracts/operator';
import { figuresFromWire, priceFigures, type Endpoint } from '@gateway/contracts/messages';
import type { Alias, DatedFigures, Model, Provider, Source } from '../objects/rules.js';

export interface RecordedChange {
  readonly revision: number;
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly objectId: string;
  readonly before: Record<string, unknown> | null;
  readonly after: Record<string, unknown> | null;
  readonly origin: AuditEntryView['origin'];
}

export interface ProviderRow {
  readonly id: string;
  readonly name: string;
  readonly format: Provider['format'];
  readonly auth: Provider['auth'];
  readonly sealed_credential: string | null;
}

export function providerFromRow({ id, name, format, auth, sealed_credential }: ProviderRow): Provider {
  return { id, name, format, auth, sealedCredential: sealed_credential };
}

export interface ModelRow {
  readonly id: string;
  readonly display_name: string;
  readonly active: boolean;
  readonly available: boolean;
  readonly kind: Model['kind'];
  readonly context_length: number | null;
  readonly max_output_tokens: number | null;
  readonly bytes_per_token: number;
  readonly created_at: Date;
}

export function modelFromRow(row: ModelRow): Model {
  return {
    id: row.id,
    displayName: row.display_name,
    active: row.active,
    available: row.available,
    kind: row.kind,
    contextLength: row.context_length,
    maxOutputTokens: row.max_output_tokens,
    bytesPerToken: row.bytes_per_token,
  };
}

export interface AliasRow {
  readonly id: string;
  readonly model: string;
}

export function aliasFromRow({ id, model }: AliasRow): Alias {
  return { id, model };
}

/** The quota of a source without limits. */
export const NO_QUOTA: Source['quota'] = { requestsPerMinute: null, callsAtOnce: null, tokensPerMinute: null };

export interface SourceRow {
  readonly id: string;
  readonly model: string;
  readonly provider: string;
  readonly profile: string | null;
  readonly parameters: Record<string, string>;
  readonly base_url: string | null;
  readonly upstream_model: string;
  readonly endpoints: Endpoint[];
  readonly paths: Source['paths'];
  readonly auth: Source['auth'];
  readonly sealed_credential: string | null;
  readonly headers: Record<string, string>;
  readonly forward_headers: Source['forwardHeaders'];
  readonly betas: NonNullable<Source['betas']>;
  readonly betas_default: boolean;
  readonly priority: number;
  readonly weight: number;
  readonly enabled: boolean;
  readonly stream_usage: boolean | null;
  readonly cancel_stops_billing: boolean | null;
  readonly total_extra: Source['totalExtra'];
  readonly body: Source['body'];
  readonly unpriced: Source['unpriced'];
  readonly foreign_ids: Source['foreignIds'];
  readonly free_tools: string[];
  readonly attachments: Source['attachments'];
  readonly reported_cost_at: Source['reportedCostAt'];
  readonly limits: Source['limits'];
  readonly quota: Source['quota'] | null;
}

export function sourceFromRow(row: SourceRow): Source {
  return {
    id: row.id,
    model: row.model,
    provider: row.provider,
    profile: row.profile,
    parameters: row.parameters,
    baseUrl: row.base_url,
    upstreamModel: row.upstream_model,
    endpoints: row.endpoints,
    paths: row.paths,
    auth: row.auth,
    sealedCredential: row.sealed_credential,
    headers: row.headers,
    forwardHeaders: row.forward_headers,
    betas: row.betas_default && row.betas.length === 0 ? null : row.betas,
    priority: row.priority,
    weight: row.weight,
    enabled: row.enabled,
    streamUsage: row.stream_usage,
    cancelStopsBilling: row.cancel_stops_billing,
    totalExtra: row.total_extra,
    body: row.body,
    unpriced: row.unpriced,
    foreignIds: row.foreign_ids,
    freeTools: row.free_tools,
    attachments: row.attachments,
    reportedCostAt: row.reported_cost_at,
    limits: row.limits,
    quota: row.quota ?? NO_QUOTA,
  };
}

export interface VersionRow {
  /** ID of the model or source. */
  readonly owner: string;
  readonly version: string;
  readonly effective_from: Date;
  readonly figures: unknown;
}

/**
 * Converts a row to a version. Figures are validated again when they are read, because charges
 * depend on them.
 */
export function versionFromRow({ version, effective_from, figures }: VersionRow): DatedFigures {
  return {
    version,
    effectiveFrom: effective_from.getTime(),
    figures: figures === null ? null : figuresFromWire(priceFigures.parse(figures)),
  };
}

/** Groups the versions by owner, in the order of the rows. */
export function versionsByOwner(rows: readonly VersionRow[]): ReadonlyMap<string, readonly DatedFigures[]> {
  const byOwner = new Map<string, DatedFigures[]>();
  for (const row of rows) {
    const versions = byOwner.get(row.owner);
    if (versions) versions.push(versionFromRow(row));
    else byOwner.set(row.owner, [versionFromRow(row)]);
  }
  return byOwner;
}

export interface ChangeRow {
  readonly revision: bigint;
  readonly actor: string;
  readonly action: string;
  readonly object_id: string;
  readonly before: Record<string, unknown> | null;
  readonly after: Record<string, unknown> | null;
  readonly changed_at: Date;
  readonly client: string | null;
  readonly agent: string | null;
  readonly request_id: string | null;
}

export function changeFromRow(row: ChangeRow): RecordedChange {
  const { client, agent, request_id: requestId } = row;
  return {
    revision: Number(row.revision),
    at: row.changed_at,
    actor: row.actor,
    action: row.action,
    objectId: row.object_id,
    before: row.before,
    after: row.after,
    origin: requestId === null ? null : { client, agent, requestId },
  };
}
