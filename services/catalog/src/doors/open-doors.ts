import { BusFault } from '@gateway/bus';
import type { Bus } from '@gateway/bus';
import { catalogPutModel, catalogPutProvider, catalogPutSource } from '@gateway/contracts/messages';
import type { ManagementRefusal } from '@gateway/contracts/operator';
import { isConnectionFault } from '@gateway/postgres';
import { counter } from '@gateway/service-kit';
import { putModel } from '../change/put-model.js';
import { putProvider } from '../change/put-provider.js';
import { putSource, type PutSourcePorts } from '../change/put-source.js';
import type { Saved } from '../change/save.js';

/** Changes wait for each other at one lock: more than these at once would only hold connections. */
const CHANGES_AT_ONCE_MAX = 64;

const changes = counter('gateway_catalog_changes_total', 'Answered changes of the catalog', {
  object: ['provider', 'model', 'source'],
  outcome: ['created', 'changed', 'unchanged', 'refused', 'fault'],
});

/** Opens the doors of this service; the bus has validated what comes through them. */
export function openDoors(bus: Bus, ports: PutSourcePorts): void {
  const options = { concurrencyMax: CHANGES_AT_ONCE_MAX };
  bus.serve(catalogPutProvider, (body) => answer('provider', putProvider(ports, body)), options);
  bus.serve(catalogPutModel, (body) => answer('model', putModel(ports, body)), options);
  bus.serve(catalogPutSource, (body) => answer('source', putSource(ports, body)), options);
}

async function answer(
  object: 'provider' | 'model' | 'source',
  work: Promise<Saved | ManagementRefusal>,
): Promise<Saved | ManagementRefusal> {
  try {
    const result = await work;
    changes.of({ object, outcome: 'refused' in result ? 'refused' : result.change }).add();
    return result;
  } catch (error) {
    changes.of({ object, outcome: 'fault' }).add();
    if (isConnectionFault(error)) throw new BusFault('dependency_unavailable', 'the database of the catalog is away');
    throw error;
  }
}
