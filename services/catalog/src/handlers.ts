import { requestServer, type Bus } from '@gateway/bus';
import {
  catalogApply,
  catalogAudit,
  catalogDelete,
  catalogGetModel,
  catalogGetProvider,
  catalogGetSource,
  catalogListModels,
  catalogListProviders,
  catalogListSources,
  catalogPutModel,
  catalogPutProvider,
  catalogPutSource,
  catalogSourceHealth,
} from '@gateway/contracts/messages';
import { faultOf } from '@gateway/postgres';
import { apply, type ApplyDeps } from './documents/apply.js';
import { deleteObject } from './objects/delete-object.js';
import { putModel } from './models/put-model.js';
import { putProvider } from './providers/put-provider.js';
import { putSource } from './sources/put-source.js';
import type { Saved } from './objects/save.js';
import { listChanges } from './objects/list-changes.js';
import { listModels, listProviders, listSources, getView } from './objects/read-objects.js';
import { listSourceHealth, type SourceHealthDeps } from './health/list-source-health.js';
import { answer, counted } from './answer.js';

/** Changes wait for each other at one lock: more than these at once would only wait. */
const CHANGES_AT_ONCE_MAX = 64;
/** Documents that wait for the lock; each holds the lock for as long as a thousand objects take. */
const DOCUMENTS_AT_ONCE_MAX = 4;
const READS_AT_ONCE_MAX = 64;

export type CatalogDeps = ApplyDeps & SourceHealthDeps;

/** Serves the requests of this service; the bus has validated them. */
export function serveCatalog(bus: Bus, deps: CatalogDeps): void {
  const served = { serve: requestServer(bus, { faultOf }) };
  serveChanges(served, deps);
  serveReads(served, deps);
}

function serveChanges(bus: Pick<Bus, 'serve'>, deps: CatalogDeps): void {
  const options = { concurrencyMax: CHANGES_AT_ONCE_MAX };
  const put = <View>({ change }: Saved<View>) => change;
  bus.serve(
    catalogPutProvider,
    (body) =>
      answer(counted('provider', putProvider(deps, body), put), ({ view, ...saved }) => ({
        ...saved,
        provider: view,
      })),
    options,
  );
  bus.serve(
    catalogPutModel,
    (body) => answer(counted('model', putModel(deps, body), put), ({ view, ...saved }) => ({ ...saved, model: view })),
    options,
  );
  bus.serve(
    catalogPutSource,
    (body) =>
      answer(counted('source', putSource(deps, body), put), ({ view, ...saved }) => ({ ...saved, source: view })),
    options,
  );
  bus.serve(
    catalogDelete,
    (body) =>
      answer(
        counted(body.kind, deleteObject(deps, body), () => 'deleted'),
        (deleted) => deleted,
      ),
    options,
  );
  bus.serve(
    catalogApply,
    (body) => {
      const outcome = () => (body.dryRun ? 'unchanged' : 'applied');
      return answer(counted('document', apply(deps, body), outcome), (applied) => applied);
    },
    { concurrencyMax: DOCUMENTS_AT_ONCE_MAX },
  );
}

function serveReads(bus: Pick<Bus, 'serve'>, deps: CatalogDeps): void {
  const { store } = deps;
  const options = { concurrencyMax: READS_AT_ONCE_MAX };
  bus.serve(
    catalogGetProvider,
    ({ id }) => answer(getView(store, 'provider', id), (provider) => ({ provider })),
    options,
  );
  bus.serve(catalogGetModel, ({ id }) => answer(getView(store, 'model', id), (model) => ({ model })), options);
  bus.serve(catalogGetSource, ({ id }) => answer(getView(store, 'source', id), (source) => ({ source })), options);
  bus.serve(
    catalogListProviders,
    (body) => answer(listProviders(store, body), ({ entries, nextCursor }) => ({ providers: entries, nextCursor })),
    options,
  );
  bus.serve(
    catalogListModels,
    (body) => answer(listModels(store, body), ({ entries, nextCursor }) => ({ models: entries, nextCursor })),
    options,
  );
  bus.serve(
    catalogListSources,
    (body) => answer(listSources(store, body), ({ entries, nextCursor }) => ({ sources: entries, nextCursor })),
    options,
  );
  bus.serve(catalogAudit, (body) => answer(listChanges(store, body), (page) => page), options);
  bus.serve(
    catalogSourceHealth,
    (body) => answer(listSourceHealth(deps, body), ({ entries, nextCursor }) => ({ sources: entries, nextCursor })),
    options,
  );
}
