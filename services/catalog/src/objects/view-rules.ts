import type { AliasView, ModelView, ProviderView, SourceView, VersionView } from '@gateway/contracts/operator';
import { shownVersions, versionAt } from './version-rules.js';
import { toSpec } from './price-rules.js';
import type { Alias, DatedFigures, Model, Provider, Source } from './rules.js';
import { connectionOf, profileOf } from '../profiles/profile-rules.js';

/** Conversions to the operator API's views. A PUT of an unchanged view changes nothing. */

export function providerViewOf({ id, name, format, auth, sealedCredential }: Provider): ProviderView {
  return { id, name, format, auth, hasCredential: sealedCredential !== null };
}

export function aliasViewOf({ id, model }: Alias): AliasView {
  return { id, modelId: model };
}

/** `versions` are the model's versions, in force at `nowMs` or later. */
export function modelViewOf(model: Model, versions: readonly DatedFigures[], nowMs: number): ModelView {
  const { current, version, upcoming } = shown(versions, nowMs);
  return {
    id: model.id,
    displayName: model.displayName,
    active: model.active,
    available: model.available,
    kind: model.kind,
    contextLength: model.contextLength,
    maxOutputTokens: model.maxOutputTokens,
    bytesPerToken: model.bytesPerToken,
    prices: current,
    priceVersion: version,
    upcomingPrices: upcoming,
  };
}

/** `versions` are the source's costs. Of the credential, only existence and owner are shown. */
export function sourceViewOf(
  source: Source,
  provider: Provider | undefined,
  versions: readonly DatedFigures[],
  nowMs: number,
): SourceView {
  const { current, version, upcoming } = shown(versions, nowMs);
  const connection = connectionOf(source, profileOf(source, provider?.format), provider);
  const hasCredential = source.sealedCredential !== null;
  const sharesCredential = !hasCredential && (provider?.sealedCredential ?? null) !== null;
  return {
    id: source.id,
    modelId: source.model,
    providerId: source.provider,
    profile: source.profile,
    parameters: source.parameters,
    baseUrl: connection.baseUrl,
    upstreamModel: source.upstreamModel,
    endpoints: [...source.endpoints],
    paths: { ...source.paths },
    auth: connection.auth,
    hasCredential,
    credentialOf: hasCredential ? 'source' : sharesCredential ? 'provider' : null,
    headers: source.headers,
    forwardHeaders: [...connection.forwardHeaders],
    betas: connection.betas,
    body: connection.body,
    priority: source.priority,
    weight: source.weight,
    enabled: source.enabled,
    streamUsage: connection.streamUsage,
    cancelStopsBilling: connection.cancelStopsBilling,
    totalExtra: connection.totalExtra,
    unpriced: source.unpriced,
    foreignIds: connection.foreignIds,
    freeTools: source.freeTools,
    attachments: connection.attachments,
    reportedCostAt: connection.reportedCostAt,
    limits: source.limits,
    quota: source.quota,
    costs: current,
    costVersion: version,
    upcomingCosts: upcoming,
  };
}

interface Shown {
  readonly current: ModelView['prices'];
  readonly version: string | null;
  readonly upcoming: VersionView[];
}

function shown(versions: readonly DatedFigures[], nowMs: number): Shown {
  const inForce = versionAt(versions, nowMs);
  const priced = inForce?.figures ? { current: toSpec(inForce.figures), version: inForce.version } : null;
  return {
    current: priced?.current ?? null,
    version: priced?.version ?? null,
    upcoming: shownVersions(versions, nowMs)
      .filter(({ effectiveFrom }) => effectiveFrom > nowMs)
      .map(({ version, effectiveFrom, figures }) => ({
        version,
        effectiveFrom: new Date(effectiveFrom).toISOString(),
        figures: figures === null ? null : { ...toSpec(figures) },
      })),
  };
}
