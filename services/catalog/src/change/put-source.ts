import { SOURCES_PER_MODEL_MAX } from '@gateway/contracts/messages';
import type { ManagementRefusal, SourceSpec } from '@gateway/contracts/operator';
import { sourceOf } from '../domain/from-spec.js';
import type { Source } from '../domain/objects.js';
import { isRefusal, refuse } from '../domain/refusal.js';
import { sameContent } from '../domain/same-content.js';
import type { Announcer, CatalogStore, CatalogTx, CredentialSeal } from '../ports.js';
import { checkRoom } from './check-room.js';
import { planFigures } from './plan-figures.js';
import { recorded } from './put-model.js';
import { awaitPublished, type Saved } from './save.js';

export interface PutSourcePorts {
  readonly store: CatalogStore;
  readonly announcer: Announcer;
  readonly seal: CredentialSeal;
  /** Private and loopback addresses may be sources. */
  readonly privateAllowed: boolean;
}
export interface PutSource {
  readonly id: string;
  readonly spec: SourceSpec;
  /** Sealed for this id; absent: the stored one is kept, null: none. */
  readonly sealedCredential?: string | null | undefined;
  readonly actor: string;
}

/** Makes or replaces an upstream source of a model. */
export async function putSource(ports: PutSourcePorts, request: PutSource): Promise<Saved | ManagementRefusal> {
  const given = acceptCredential(ports.seal, request);
  if (given && isRefusal(given)) return given;
  const saved = await ports.store.change((tx) => saveSource(tx, ports, request, given));
  return isRefusal(saved) ? saved : awaitPublished(ports.announcer, saved);
}

/** A credential that the edge could not open later is refused now. */
function acceptCredential(
  seal: CredentialSeal,
  { id, sealedCredential }: PutSource,
): { readonly sealed: string | null } | null | ManagementRefusal {
  if (sealedCredential === undefined) return null;
  if (sealedCredential === null) return { sealed: null };
  const sealed = seal.current(sealedCredential, id);
  if (sealed !== null) return { sealed };
  return refuse('invalid_request', 'the credential was not sealed for this source under a known key', 'credential');
}

async function saveSource(
  tx: CatalogTx,
  { seal, privateAllowed }: PutSourcePorts,
  { id, spec, actor }: PutSource,
  given: { readonly sealed: string | null } | null,
): Promise<Saved | ManagementRefusal> {
  const before = await tx.source(id);
  const kept = before?.sealedCredential ?? null;
  // The same credential sealed again is another text: the stored one stays, so that nothing seems to change.
  const sealed = given && !seal.same(given.sealed, kept, id) ? given.sealed : kept;
  const after = sourceOf(id, spec, sealed, privateAllowed);
  if (isRefusal(after)) return after;
  const misplaced = await checkPlace(tx, after);
  if (misplaced) return misplaced;
  const versions = before ? await tx.versions({ source: id }) : [];
  const added = planFigures(spec.costs, versions, tx.nowMs, 'costs');
  if (added && isRefusal(added)) return added;
  if (before && !added && sameContent(before, after)) return { change: 'unchanged', revision: tx.revision };
  const noRoom = before ? null : await checkRoom(tx);
  if (noRoom) return noRoom;
  await tx.saveSource(after);
  if (added) await tx.addVersion({ source: id }, added);
  const revision = await tx.record({
    actor,
    action: 'put_source',
    objectId: id,
    before: before && withoutCredential(before),
    after: {
      ...withoutCredential(after),
      credentialChanged: sealed !== kept,
      ...(added ? { costs: recorded(added) } : {}),
    },
  });
  return { change: before ? 'changed' : 'created', revision };
}

async function checkPlace(tx: CatalogTx, source: Source): Promise<ManagementRefusal | null> {
  if (!(await tx.model(source.model))) return refuse('not_found', `there is no model ${source.model}`, 'modelId');
  if (!(await tx.provider(source.provider)))
    return refuse('not_found', `there is no provider ${source.provider}`, 'providerId');
  if ((await tx.countOtherSources(source.model, source.id)) >= SOURCES_PER_MODEL_MAX)
    return refuse('state_conflict', `a model has at most ${SOURCES_PER_MODEL_MAX} sources`, 'modelId');
  return null;
}

function withoutCredential({ sealedCredential, ...source }: Source): object {
  return { ...source, hasCredential: sealedCredential !== null };
}
