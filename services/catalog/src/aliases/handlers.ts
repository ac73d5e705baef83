import type { Bus } from '@gateway/bus';
import { catalogGetAlias, catalogListAliases, catalogPutAlias } from '@gateway/contracts/messages';
import type { AliasView, ManagementRefusal } from '@gateway/contracts/operator';
import { answer, answerSaved, CHANGES, READS } from '../objects/answer.js';
import type { PageOf, PageRequest } from '../objects/page-rules.js';
import { getView, listObjects } from '../objects/read-objects.js';
import type { SaveDeps } from '../objects/save.js';
import type { CatalogStore } from '../storage/store.js';
import { aliasViewOf } from '../objects/view-rules.js';
import { putAlias } from './put-alias.js';

/** Returns one page of aliases, sorted by name. */
export function listAliases(store: CatalogStore, request: PageRequest): Promise<PageOf<AliasView> | ManagementRefusal> {
  return listObjects(store, 'aliases', request, async (reads, page) => (await reads.aliases(page)).map(aliasViewOf));
}

/** Registers the handlers of alias requests. */
export function serveAliases(bus: Pick<Bus, 'serve'>, deps: SaveDeps): void {
  const { store } = deps;
  bus.serve(catalogPutAlias, (body) => answerSaved('alias', putAlias(deps, body), (alias) => ({ alias })), CHANGES);
  bus.serve(catalogGetAlias, ({ id }) => answer(getView(store, 'alias', id), (alias) => ({ alias })), READS);
  bus.serve(
    catalogListAliases,
    (body) => answer(listAliases(store, body), ({ entries, nextCursor }) => ({ aliases: entries, nextCursor })),
    READS,
  );
}
