import { BusFault, type Bus } from '@gateway/bus';
import {
  billingAddWalletEntry,
  billingFunding,
  billingLedger,
  billingLoad,
  billingPutLimits,
  billingUsageRecord,
  billingUsageRecords,
  billingWallet,
} from '@gateway/contracts/messages';
import { putLimits, type PutLimitsDeps } from '../change/put-limits.js';
import { addWalletEntry, type AddWalletEntryDeps } from '../fund/add-wallet-entry.js';
import { loadAccount, type LoadDeps } from '../load/load-account.js';
import type { ShowStore } from '../ports.js';
import { showFunding, showWallet } from '../show/show-funding.js';
import { showLedger } from '../show/show-ledger.js';
import { showUsageRecord, showUsageRecords } from '../show/show-usage-records.js';

export interface RequestDeps {
  readonly load: LoadDeps;
  readonly fund: AddWalletEntryDeps;
  readonly limits: PutLimitsDeps;
  readonly show: ShowStore;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Loads running at once; waiting ones after a loss of the gate hold no connection. */
const LOADS_MAX = 512;

/** Opens the doors of billing's requests. */
export function serveRequests(bus: Pick<Bus, 'serve'>, { load, fund, limits, show, now }: RequestDeps): void {
  bus.serve(
    billingLoad,
    async (body) => {
      const loaded = await loadAccount(load, body);
      if (loaded.kind === 'behind') throw new BusFault('behind', 'not everything that was stored is settled');
      return loaded.answer;
    },
    { concurrencyMax: LOADS_MAX },
  );
  bus.serve(billingFunding, ({ account }) => showFunding(show, account, now()));
  bus.serve(billingAddWalletEntry, (body) => addWalletEntry(fund, body));
  bus.serve(billingPutLimits, (body) => putLimits(limits, body));
  bus.serve(billingWallet, ({ account }) => showWallet(show, account, now()));
  bus.serve(billingUsageRecord, ({ requestId }) => showUsageRecord(show, requestId));
  bus.serve(billingUsageRecords, (body) => showUsageRecords(show, body));
  bus.serve(billingLedger, (body) => showLedger(show, body));
}
