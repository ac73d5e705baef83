import { BusFault } from '@gateway/bus';
import type { Bus } from '@gateway/bus';
import {
  accountsCreateAccount,
  accountsCreateKey,
  accountsFind,
  accountsListAccounts,
  accountsLoad,
} from '@gateway/contracts/messages';
import { isConnectionFault } from '@gateway/postgres';
import { counter } from '@gateway/service-kit';
import { createKey, type CreateKeyPorts } from '../keys/create-key.js';
import { findKey } from '../keys/find-key.js';
import { createAccount, type CreateAccountPorts } from '../people/create-account.js';
import { listAccounts } from '../people/list-accounts.js';
import { loadAccount } from '../people/load-account.js';

export type DoorPorts = CreateKeyPorts & CreateAccountPorts;

/** Requests of one kind at once; they share a few connections, and a longer queue would only time out. */
const LOOKUPS_AT_ONCE_MAX = 256;
const CHANGES_AT_ONCE_MAX = 64;

const VERBS = ['find', 'load', 'list_accounts', 'create_account', 'create_key'] as const;
const requests = counter('gateway_accounts_requests_total', 'Answered requests', {
  verb: VERBS,
  outcome: ['answered', 'refused', 'fault'],
});

/** Opens the doors of this service; the bus has validated what comes through them. */
export function openDoors(bus: Bus, ports: DoorPorts): void {
  const { store } = ports;
  const lookups = { concurrencyMax: LOOKUPS_AT_ONCE_MAX };
  const changes = { concurrencyMax: CHANGES_AT_ONCE_MAX };
  bus.serve(accountsFind, (body) => answer('find', findKey(store, body)), lookups);
  bus.serve(accountsLoad, (body) => answer('load', loadAccount(store, body)), lookups);
  bus.serve(accountsListAccounts, (body) => answer('list_accounts', listAccounts(store, body)), lookups);
  bus.serve(accountsCreateAccount, (body) => answer('create_account', createAccount(ports, body)), changes);
  bus.serve(accountsCreateKey, (body) => answer('create_key', createKey(ports, body)), changes);
}

async function answer<T extends object>(verb: (typeof VERBS)[number], work: Promise<T>): Promise<T> {
  try {
    const result = await work;
    requests.of({ verb, outcome: 'refused' in result ? 'refused' : 'answered' }).add();
    return result;
  } catch (error) {
    requests.of({ verb, outcome: 'fault' }).add();
    if (isConnectionFault(error)) throw new BusFault('dependency_unavailable', 'the database of accounts is away');
    throw error;
  }
}
