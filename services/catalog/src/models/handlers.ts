import type { Bus } from '@gateway/bus';
import { catalogGetModel, catalogListModels, catalogPutModel } from '@gateway/contracts/messages';
import type { ManagementRefusal, ModelView } from '@gateway/contracts/operator';
import { answer, answerSaved, CHANGES, READS } from '../objects/answer.js';
import type { PageOf, PageRequest } from '../objects/page-rules.js';
import { getView, listIds, listObjects } from '../objects/read-objects.js';
import type { SaveDeps } from '../objects/save.js';
import type { CatalogStore } from '../storage/store.js';
import { modelViewOf } from '../objects/view-rules.js';
import { putModel } from './put-model.js';

interface ListedModel extends ModelView {
  /** Whether a source, enabled or not, serves the model on the messages format. */
  readonly onMessages: boolean;
}

/** Returns one page of models, sorted by ID. */
function listModels(store: CatalogStore, request: PageRequest): Promise<PageOf<ListedModel> | ManagementRefusal> {
  return listObjects(store, 'models', request, async (reads, page) => {
    const models = await reads.models(page);
    const prices = await reads.versionsOf('prices', listIds(models));
    const onMessages = new Set(await reads.modelsOnMessages(listIds(models)));
    return models.map((model) => ({
      ...modelViewOf(model, prices.get(model.id) ?? [], reads.nowMs),
      onMessages: onMessages.has(model.id),
    }));
  });
}

/** Registers the handlers of model requests. */
export function serveModels(bus: Pick<Bus, 'serve'>, deps: SaveDeps): void {
  const { store } = deps;
  bus.serve(catalogPutModel, (body) => answerSaved('model', putModel(deps, body), (model) => ({ model })), CHANGES);
  bus.serve(catalogGetModel, ({ id }) => answer(getView(store, 'model', id), (model) => ({ model })), READS);
  bus.serve(
    catalogListModels,
    (body) =>
      answer(listModels(store, body), ({ entries, nextCursor }) => ({
        models: entries.map(({ onMessages: _, ...view }) => view),
        onMessages: listIds(entries.filter(({ onMessages }) => onMessages)),
        nextCursor,
      })),
    READS,
  );
}
