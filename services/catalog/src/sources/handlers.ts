import type { Bus } from '@gateway/bus';
import { catalogGetSource, catalogListSources, catalogPutSource } from '@gateway/contracts/messages';
import { isRefusal, type ManagementRefusal, type SourceView } from '@gateway/contracts/operator';
import { answer, answerSaved, CHANGES, READS } from '../objects/answer.js';
import type { PageOf, PageRequest } from '../objects/page-rules.js';
import { getView, listIds, listObjects } from '../objects/read-objects.js';
import type { SaveDeps } from '../objects/save.js';
import type { CatalogStore } from '../storage/store.js';
import { sourceViewOf } from '../objects/view-rules.js';
import { putSource, type SourceRules } from './put-source.js';

/** Returns one page of sources, of one model or all, sorted by ID. */
export function listSources(
  store: CatalogStore,
  request: PageRequest & { readonly model: string | null },
): Promise<PageOf<SourceView> | ManagementRefusal> {
  return listObjects(store, 'sources', request, async (reads, page) => {
    const sources = await reads.sources({ ...page, model: request.model });
    const costs = await reads.versionsOf('costs', listIds(sources));
    const providers = await reads.providersOf([...new Set(sources.map(({ provider }) => provider))]);
    return sources.map((source) =>
      sourceViewOf(source, providers.get(source.provider), costs.get(source.id) ?? [], reads.nowMs),
    );
  });
}

/** Registers the handlers of source requests. */
export function serveSources(bus: Pick<Bus, 'serve'>, deps: SaveDeps & SourceRules): void {
  const { store } = deps;
  bus.serve(
    catalogPutSource,
    (body) => answerSaved('source', putSource(deps, body), (source) => ({ source })),
    CHANGES,
  );
  bus.serve(
    catalogGetSource,
    async ({ id }) => {
      const view = await getView(store, 'source', id);
      return isRefusal(view) ? view : { source: view, revision: await store.revision() };
    },
    READS,
  );
  bus.serve(
    catalogListSources,
    (body) => answer(listSources(store, body), ({ entries, nextCursor }) => ({ sources: entries, nextCursor })),
    READS,
  );
}
