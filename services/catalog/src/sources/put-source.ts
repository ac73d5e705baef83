import type { ReceivedOf, catalogPutSource } from '@gateway/contracts/messages';
import {
  isRefusal,
  refuse,
  type ManagementRefusal,
  type SourceSpec,
  type SourceView,
} from '@gateway/contracts/operator';
import { acceptCredential } from '../objects/accept-credential.js';
import { withVersion, planFigures } from '../objects/version-rules.js';
import { sourceOf } from '../objects/spec-rules.js';
import {
  type DatedFigures,
  type Model,
  type Provider,
  sameContent,
  type SaveResult,
  type Source,
} from '../objects/rules.js';
import { connectionOf, keptSettings, profileOf } from '../profiles/profile-rules.js';
import { sourceViewOf } from '../objects/view-rules.js';
import type { CatalogTx } from '../storage/change-sql.js';
import { checkPlaces, checkRoom, saveAlone, type SaveResponse, type SaveDeps } from '../objects/save.js';

export interface SourceRules {
  /** Whether private and loopback addresses are permitted. */
  readonly privateAllowed: boolean;
}
export type PutSource = ReceivedOf<typeof catalogPutSource>;

/** Creates or replaces a source of a model. */
export function putSource(
  deps: SaveDeps & SourceRules,
  request: PutSource,
): Promise<SaveResponse<SourceView> | ManagementRefusal> {
  return saveAlone(deps, async (tx) => {
    const result = await saveSource(tx, deps, request);
    if (isRefusal(result)) return result;
    return (await checkPlaces(tx))(result.after.modelId, result) ?? (await checkRoom(tx, result)) ?? result;
  });
}

/** Saves a source without checking the number of the model's sources. */
export async function saveSource(
  tx: CatalogTx,
  { privateAllowed }: SourceRules,
  request: PutSource,
): Promise<SaveResult<SourceView> | ManagementRefusal> {
  const { id, spec, author } = request;
  const before = await tx.source(id);
  const kept = before?.sealedCredential ?? null;
  const accepted = acceptCredential(request.sealedCredential, kept);
  if (isRefusal(accepted)) return accepted;
  const { sealed } = accepted;
  const place = await checkPlace(tx, spec);
  if (isRefusal(place)) return place;
  const { provider, kind } = place;
  const parts = { sealedCredential: sealed, privateAllowed, format: provider.format, kind };
  const wanted = sourceOf(id, spec, parts);
  if (isRefusal(wanted)) return wanted;
  const after = keptSettings(
    wanted,
    before,
    before && connectionOf(before, profileOf(before, provider.format), provider),
  );
  const versions = before ? await tx.versions({ source: id }) : [];
  const planned = planFigures(spec.costs, versions, tx.nowMs, 'costs');
  if (planned && isRefusal(planned)) return planned;
  const viewBefore = before && (await viewOf(tx, before, provider, versions));
  if (viewBefore && !planned && sameContent(before, after))
    return { change: 'unchanged', before: viewBefore, after: viewBefore, credentialChanged: false };

  await tx.saveSource(after);
  const added = planned && (await tx.addVersion({ source: id }, planned));
  const viewAfter = await viewOf(tx, after, provider, added ? withVersion(versions, added) : versions);
  const credentialChanged = sealed !== kept;
  const shown = { ...viewAfter, ...(credentialChanged ? { credentialChanged } : {}) };
  await tx.record({ author, action: 'put_source', objectId: id, before: viewBefore, after: shown });
  return { change: before ? 'changed' : 'created', before: viewBefore, after: viewAfter, credentialChanged };
}

/** Returns the provider and the model's kind, or refuses if one does not exist. */
async function checkPlace(
  tx: CatalogTx,
  { modelId, providerId }: SourceSpec,
): Promise<{ readonly provider: Provider; readonly kind: Model['kind'] } | ManagementRefusal> {
  const model = await tx.model(modelId);
  if (!model) return refuse('not_found', `there is no model ${modelId}`, 'modelId');
  const provider = await tx.provider(providerId);
  if (!provider) return refuse('not_found', `there is no provider ${providerId}`, 'providerId');
  return { provider, kind: model.kind };
}

async function viewOf(
  tx: CatalogTx,
  source: Source,
  current: Provider,
  versions: readonly DatedFigures[],
): Promise<SourceView> {
  const provider = source.provider === current.id ? current : await tx.provider(source.provider);
  return sourceViewOf(source, provider ?? undefined, versions, tx.nowMs);
}
