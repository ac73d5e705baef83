import type { Bus } from '@gateway/bus';
import {
  accountsFind,
  accountsLoad,
  accountsUnchanged,
  billingLoad,
  billingUnchanged,
  callsRefused,
  keysUsed,
  usageEvents,
} from '@gateway/contracts/messages';
import type { Journal, UsageReporter, Owners } from '../ports.js';

/**
 * Shorter than an entry's own deadline, so that the fault can name the owner that did not respond.
 */
const ANSWER_MS = 1_500;

export function createBusOwners(bus: Bus): Owners {
  return {
    async find(digests) {
      const { found } = await bus.request(accountsFind, { digests: [...digests] }, { timeoutMs: ANSWER_MS });
      return found;
    },
    loadAccount: (account, key) => bus.request(accountsLoad, { account, key }, { timeoutMs: ANSWER_MS }),
    loadBalances: ({ account, names, ids, afterLoss }) =>
      bus.request(billingLoad, { account, names: [...names], ids: [...ids], afterLoss }, { timeoutMs: ANSWER_MS }),
    unchangedBalances: (accounts) => bus.request(billingUnchanged, { accounts }),
    unchangedRecords: (accounts) => bus.request(accountsUnchanged, { accounts }),
  };
}

const STORE_MS = 2_000;

export function createBusJournal(bus: Bus): Journal {
  return {
    async store(group, events) {
      await bus.store(usageEvents, { group }, { events: [...events] }, { timeoutMs: STORE_MS });
    },
  };
}

/** @param replica name under which this process reports refused calls */
export function createBusReporters(bus: Bus, replica: string): UsageReporter {
  return {
    keysUsed: (uses) => bus.publish(keysUsed, {}, { uses: [...uses] }),
    callsRefused: (minute, rows) => bus.publish(callsRefused, {}, { from: replica, minute, rows: [...rows] }),
  };
}
