import type { Bus } from '@gateway/bus';
import {
  catalogGetProvider,
  catalogListProfiles,
  catalogListProviders,
  catalogPutProvider,
} from '@gateway/contracts/messages';
import type { ManagementRefusal, ProviderView } from '@gateway/contracts/operator';
import { PROFILES } from '@gateway/contracts/providers';
import { answer, answerSaved, CHANGES, READS } from '../objects/answer.js';
import type { PageOf, PageRequest } from '../objects/page-rules.js';
import { getView, listObjects } from '../objects/read-objects.js';
import type { SaveDeps } from '../objects/save.js';
import type { CatalogStore } from '../storage/store.js';
import { providerViewOf } from '../objects/view-rules.js';
import { putProvider } from './put-provider.js';

/** Returns one page of providers, sorted by ID. */
export function listProviders(
  store: CatalogStore,
  request: PageRequest,
): Promise<PageOf<ProviderView> | ManagementRefusal> {
  return listObjects(store, 'providers', request, async (reads, page) =>
    (await reads.providers(page)).map(providerViewOf),
  );
}

/** Registers the handlers of provider requests. Profiles are in the order of the page. */
export function serveProviders(bus: Pick<Bus, 'serve'>, deps: SaveDeps): void {
  const { store } = deps;
  bus.serve(
    catalogPutProvider,
    (body) => answerSaved('provider', putProvider(deps, body), (provider) => ({ provider })),
    CHANGES,
  );
  bus.serve(
    catalogGetProvider,
    ({ id }) => answer(getView(store, 'provider', id), (provider) => ({ provider })),
    READS,
  );
  bus.serve(
    catalogListProviders,
    (body) => answer(listProviders(store, body), ({ entries, nextCursor }) => ({ providers: entries, nextCursor })),
    READS,
  );
  bus.serve(catalogListProfiles, () => Promise.resolve({ profiles: [...PROFILES] }), READS);
}
