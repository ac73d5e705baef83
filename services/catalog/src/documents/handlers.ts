import type { Bus } from '@gateway/bus';
import { catalogApply, type CommandAuthor, type ReceivedOf } from '@gateway/contracts/messages';
import { isRefusal, type ApplyChange, type CatalogObject, type ManagementRefusal } from '@gateway/contracts/operator';
import { counted } from '../objects/answer.js';
import type { Kind, ObjectKey, SaveResult } from '../objects/rules.js';
import type { CatalogTx } from '../storage/change-sql.js';
import type { DocumentTx } from '../storage/working-copy-store.js';
import { applyChangeOf, checkAnswerSize, deletionOf, findTwice, nameOf, within } from './answer-rules.js';
import { awaitInForce, DOCUMENT_PUBLISHED_WAIT_MS, checkPlaces, checkRoom, type SaveDeps } from '../objects/save.js';
import { removeObject } from '../objects/delete-object.js';
import { checkAliasRoom, saveAlias } from '../aliases/put-alias.js';
import { saveModel } from '../models/put-model.js';
import { saveProvider } from '../providers/put-provider.js';
import { saveSource, type SourceRules } from '../sources/put-source.js';

export type ApplyDeps = SaveDeps & SourceRules;
export type Apply = ReceivedOf<typeof catalogApply>;
export interface ApplyResult {
  readonly changes: ApplyChange[];
  readonly unchanged: number;
  readonly revision: number;
}

/** Saves objects after those that they refer to. */
const SAVE_ORDER: readonly Kind[] = ['provider', 'model', 'source', 'alias'];

/** Applies all objects of a document in one transaction or none. A dry run rolls back. */
export async function apply(
  deps: ApplyDeps,
  request: Apply,
): Promise<(ApplyResult & { readonly inForce: boolean }) | ManagementRefusal> {
  const twice = findTwice(request.objects);
  if (twice) return twice;
  const work = (tx: DocumentTx) => applyAll(tx, deps, request);
  const applied = await deps.store.changeMany(work, { keeps: !request.dryRun });
  if (isRefusal(applied)) return applied;
  const inForce = !request.dryRun && (await awaitInForce(deps, applied.revision, DOCUMENT_PUBLISHED_WAIT_MS));
  return { ...applied, inForce };
}

async function applyAll(tx: DocumentTx, rules: SourceRules, request: Apply): Promise<ApplyResult | ManagementRefusal> {
  const { objects, prune, dryRun, author } = request;
  const revisionBefore = tx.revision();
  const named = new Set(objects.map(nameOf));
  const surplus = prune ? tx.names().filter((object) => !named.has(nameOf(object))) : [];
  // Deletes sources and aliases first, because new objects may need their places or names. Deletes
  // models and providers last, because changed objects may have referred to them before.
  const sourcesGone = await removeAll(tx, surplus, ['source', 'alias'], author);
  if (isRefusal(sourcesGone)) return sourcesGone;
  const saved = await saveAll(tx, rules, request);
  if (isRefusal(saved)) return saved;
  const othersGone = await removeAll(tx, surplus, ['model', 'provider'], author);
  if (isRefusal(othersGone)) return othersGone;

  const changed = saved.filter(({ change }) => change !== 'unchanged');
  const changes = [...changed, ...sourcesGone, ...othersGone];
  const tooLarge = checkAnswerSize(changes);
  if (tooLarge) return tooLarge;
  const revision = dryRun ? revisionBefore : tx.revision();
  return { changes, unchanged: objects.length - changed.length, revision };
}

/**
 * Saves each object after those that it names. The numbers of sources, aliases and objects are
 * checked after all saves, because one object may make room for another.
 */
async function saveAll(
  tx: CatalogTx,
  rules: SourceRules,
  { objects, author }: Apply,
): Promise<ApplyChange[] | ManagementRefusal> {
  const saved = new Map<number, ApplyChange>();
  const places = SAVE_ORDER.flatMap((kind) => [...objects.entries()].filter(([, object]) => object.kind === kind));
  for (const [index, object] of places) {
    const result = await saveObject(tx, rules, object, author);
    if (isRefusal(result)) return within(result, index, object);
    saved.set(index, applyChangeOf(object, result));
  }
  const crowdedAt = await checkPlaces(tx);
  for (const [index, object] of objects.entries()) {
    const result = saved.get(index) ?? { change: 'unchanged' };
    const crowded = object.kind === 'source' ? crowdedAt(object.spec.modelId, result) : null;
    if (crowded) return within(crowded, index, object);
  }
  const created = [...saved.values()].find(({ change }) => change === 'created');
  const full = created ? await checkRoom(tx, created) : null;
  return full ?? (await checkAliasRoom(tx)) ?? objects.flatMap((_object, index) => saved.get(index) ?? []);
}

function saveObject(
  tx: CatalogTx,
  rules: SourceRules,
  object: CatalogObject,
  author: CommandAuthor,
): Promise<SaveResult<object> | ManagementRefusal> {
  switch (object.kind) {
    case 'provider':
      return saveProvider(tx, { ...object, author });
    case 'model':
      return saveModel(tx, { ...object, author });
    case 'source':
      return saveSource(tx, rules, { ...object, author });
    case 'alias':
      return saveAlias(tx, { ...object, author });
  }
}

async function removeAll(
  tx: CatalogTx,
  objects: readonly ObjectKey[],
  kinds: readonly Kind[],
  author: CommandAuthor,
): Promise<ApplyChange[] | ManagementRefusal> {
  const removed: ApplyChange[] = [];
  for (const kind of kinds)
    for (const object of objects.filter((candidate) => candidate.kind === kind)) {
      const result = await removeObject(tx, { ...object, author });
      if (isRefusal(result)) return { refused: { ...result.refused, param: 'objects' } };
      removed.push(deletionOf(object, result.before));
    }
  return removed;
}

/**
 * Maximum number of documents that wait for the lock. Each holds it for the time that a thousand
 * objects take.
 */
const DOCUMENTS_AT_ONCE_MAX = 4;

/** Registers the handler of documents with many objects. */
export function serveDocuments(bus: Pick<Bus, 'serve'>, deps: ApplyDeps): void {
  bus.serve(
    catalogApply,
    (body) => counted('document', apply(deps, body), () => (body.dryRun ? 'unchanged' : 'applied')),
    { concurrencyMax: DOCUMENTS_AT_ONCE_MAX },
  );
}
