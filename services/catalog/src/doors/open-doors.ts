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
import { apply, type ApplyPorts } from '../change/apply.js';
import { deleteObject } from '../change/delete-object.js';
import { putModel } from '../change/put-model.js';
import { putProvider } from '../change/put-provider.js';
import { putSource } from '../change/put-source.js';
import type { Saved } from '../change/turn.js';
import { listChanges } from '../show/list-changes.js';
import { listModels, listProviders, listSources } from '../show/list-objects.js';
import { listSourceHealth, type SourceHealthPorts } from '../show/list-source-health.js';
import { getView } from '../show/read-view.js';
import { answer, counted } from './answer.js';

/** Changes wait for each other at one lock: more than these at once would only wait. */
const CHANGES_AT_ONCE_MAX = 64;
/** Documents waiting for their turn; each holds the lock for as long as a thousand objects take. */
const DOCUMENTS_AT_ONCE_MAX = 4;
const READS_AT_ONCE_MAX = 64;

export type DoorPorts = ApplyPorts & SourceHealthPorts;

/** Opens the doors of this service; the bus has validated what comes through them. */
export function openDoors(bus: Bus, ports: DoorPorts): void {
  const served = { serve: requestServer(bus, { faultOf }) };
  openChanges(served, ports);
  openReads(served, ports);
}

function openChanges(bus: Pick<Bus, 'serve'>, ports: DoorPorts): void {
  const options = { concurrencyMax: CHANGES_AT_ONCE_MAX };
  const put = <View>({ change }: Saved<View>) => change;
  bus.serve(
    catalogPutProvider,
    (body) =>
      answer(counted('provider', putProvider(ports, body), put), ({ view, ...saved }) => ({
        ...saved,
        provider: view,
      })),
    options,
  );
  bus.serve(
    catalogPutModel,
    (body) => answer(counted('model', putModel(ports, body), put), ({ view, ...saved }) => ({ ...saved, model: view })),
    options,
  );
  bus.serve(
    catalogPutSource,
    (body) =>
      answer(counted('source', putSource(ports, body), put), ({ view, ...saved }) => ({ ...saved, source: view })),
    options,
  );
  bus.serve(
    catalogDelete,
    (body) =>
      answer(
        counted(body.kind, deleteObject(ports, body), () => 'deleted'),
        (deleted) => deleted,
      ),
    options,
  );
  bus.serve(
    catalogApply,
    (body) => {
      const outcome = () => (body.dryRun ? 'unchanged' : 'applied');
      return answer(counted('document', apply(ports, body), outcome), (applied) => applied);
    },
    { concurrencyMax: DOCUMENTS_AT_ONCE_MAX },
  );
}

function openReads(bus: Pick<Bus, 'serve'>, ports: DoorPorts): void {
  const { store } = ports;
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
    (body) => answer(listSourceHealth(ports, body), ({ entries, nextCursor }) => ({ sources: entries, nextCursor })),
    options,
  );
}
