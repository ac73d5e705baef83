import {
  isRefusal,
  refuse,
  type ApplyChange,
  type CatalogObject,
  type ManagementRefusal,
} from '@gateway/contracts/operator';
import type { Kind, Named } from '../domain/objects.js';
import type { CatalogTx, DocumentTx } from '../ports.js';
import { applyChangeOf, checkAnswerSize, deletionOf } from './apply-answer.js';
import { awaitInForce, DOCUMENT_PUBLISHED_WAIT_MS } from './awaited.js';
import { checkPlaces, checkRoom } from './check-bounds.js';
import { removeObject } from './delete-object.js';
import { saveModel } from './put-model.js';
import { saveProvider } from './put-provider.js';
import { saveSource, type SourceRules } from './put-source.js';
import type { SavePorts, Turn } from './turn.js';

export type ApplyPorts = SavePorts & SourceRules;
export interface Apply {
  readonly objects: readonly CatalogObject[];
  /** Deletes what is not named. */
  readonly prune: boolean;
  readonly dryRun: boolean;
  readonly actor: string;
}
export interface Applied {
  readonly changes: ApplyChange[];
  readonly unchanged: number;
  readonly revision: number;
}

/** What refers comes after what it refers to. */
const SAVE_ORDER: readonly Kind[] = ['provider', 'model', 'source'];

/** All objects of a document in one transaction, or none. A dry run does the same and takes it back. */
export async function apply(
  ports: ApplyPorts,
  request: Apply,
): Promise<(Applied & { readonly inForce: boolean }) | ManagementRefusal> {
  const twice = findTwice(request.objects);
  if (twice) return twice;
  const work = (tx: DocumentTx) => applyAll(tx, ports, request);
  const applied = await ports.store.changeMany(work, { keeps: !request.dryRun });
  if (isRefusal(applied)) return applied;
  const inForce = !request.dryRun && (await awaitInForce(ports, applied.revision, DOCUMENT_PUBLISHED_WAIT_MS));
  return { ...applied, inForce };
}

function findTwice(objects: readonly CatalogObject[]): ManagementRefusal | null {
  const seen = new Set<string>();
  for (const [index, object] of objects.entries()) {
    if (seen.has(nameOf(object)))
      return refuse('invalid_request', `${nameOf(object)} stands twice`, `objects[${index}]`);
    seen.add(nameOf(object));
  }
  return null;
}

async function applyAll(tx: DocumentTx, rules: SourceRules, request: Apply): Promise<Applied | ManagementRefusal> {
  const { objects, prune, dryRun, actor } = request;
  const revisionBefore = tx.revision();
  const named = new Set(objects.map(nameOf));
  const surplus = prune ? tx.names().filter((object) => !named.has(nameOf(object))) : [];
  // Sources first: what is put may need their places. Models and providers last: what is put may have left them.
  const sourcesGone = await removeAll(tx, surplus, ['source'], actor);
  if (isRefusal(sourcesGone)) return sourcesGone;
  const saved = await saveAll(tx, rules, request);
  if (isRefusal(saved)) return saved;
  const othersGone = await removeAll(tx, surplus, ['model', 'provider'], actor);
  if (isRefusal(othersGone)) return othersGone;

  const changed = saved.filter(({ change }) => change !== 'unchanged');
  const changes = [...changed, ...sourcesGone, ...othersGone];
  const tooLarge = checkAnswerSize(changes);
  if (tooLarge) return tooLarge;
  const revision = dryRun ? revisionBefore : tx.revision();
  return { changes, unchanged: objects.length - changed.length, revision };
}

/** In the order of the document. How many there are is judged when all are saved: one may have made room for another. */
async function saveAll(
  tx: CatalogTx,
  rules: SourceRules,
  { objects, actor }: Apply,
): Promise<ApplyChange[] | ManagementRefusal> {
  const saved = new Map<number, ApplyChange>();
  const places = SAVE_ORDER.flatMap((kind) => [...objects.entries()].filter(([, object]) => object.kind === kind));
  for (const [index, object] of places) {
    const turn = await saveObject(tx, rules, object, actor);
    if (isRefusal(turn)) return within(turn, index, object);
    saved.set(index, applyChangeOf(object, turn));
  }
  const crowdedAt = await checkPlaces(tx);
  for (const [index, object] of objects.entries()) {
    const turn = saved.get(index) ?? { change: 'unchanged' };
    const crowded = object.kind === 'source' ? crowdedAt(object.spec.modelId, turn) : null;
    if (crowded) return within(crowded, index, object);
  }
  const created = [...saved.values()].find(({ change }) => change === 'created');
  const full = created ? await checkRoom(tx, created) : null;
  return full ?? objects.flatMap((_object, index) => saved.get(index) ?? []);
}

function saveObject(
  tx: CatalogTx,
  rules: SourceRules,
  object: CatalogObject,
  actor: string,
): Promise<Turn<object> | ManagementRefusal> {
  switch (object.kind) {
    case 'provider':
      return saveProvider(tx, { ...object, actor });
    case 'model':
      return saveModel(tx, { ...object, actor });
    case 'source':
      return saveSource(tx, rules, { ...object, actor });
  }
}

async function removeAll(
  tx: CatalogTx,
  objects: readonly Named[],
  kinds: readonly Kind[],
  actor: string,
): Promise<ApplyChange[] | ManagementRefusal> {
  const removed: ApplyChange[] = [];
  for (const kind of kinds)
    for (const object of objects.filter((candidate) => candidate.kind === kind)) {
      const turn = await removeObject(tx, { ...object, actor });
      if (isRefusal(turn)) return { refused: { ...turn.refused, param: 'objects' } };
      removed.push(deletionOf(object, turn.before));
    }
  return removed;
}

/** Names the object that is refused, and the place in the document. */
function within({ refused }: ManagementRefusal, index: number, object: Named): ManagementRefusal {
  const { code, message, param } = refused;
  const place = `objects[${index}]${param === null ? '' : `.spec.${param}`}`;
  return refuse(code, `${nameOf(object)}: ${message}`, place);
}

function nameOf({ kind, id }: Named): string {
  return `${kind} ${id}`;
}
