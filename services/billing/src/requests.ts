import { type Bus, BusFault } from '@gateway/bus';
import {
  billingAddWalletEntry,
  billingApplyPlans,
  billingAudit,
  billingCloseAccount,
  billingDeletePlan,
  billingDeleteSubscription,
  billingExportLedgerEntries,
  billingExportUsageRecords,
  billingFunding,
  billingGetLimits,
  billingGetPlan,
  billingGetSubscription,
  billingLedger,
  billingLedgerTransaction,
  billingListPlans,
  billingLoad,
  billingPutLimits,
  billingPutPlan,
  billingPutSubscription,
  billingStatement,
  billingStatementLines,
  billingTrialBalance,
  billingUsageRecord,
  billingUsageRecords,
  billingWallet,
} from '@gateway/contracts/messages';
import { closeAccount, type CloseAccountDeps } from './accounts/close-account.js';
import { loadAccount, type LoadDeps } from './accounts/load-account.js';
import { showFunding, showWallet } from './accounts/show-funding.js';
import { exportLedgerEntries } from './exports/export-ledger-entries.js';
import { exportUsageRecords } from './exports/export-usage-records.js';
import { showStatement, showStatementLines } from './finance/statement.js';
import { showAudit } from './ledger/show-changes.js';
import { showLedger, showLedgerTransaction, showTrialBalance } from './ledger/show-ledger.js';
import type { AuditStore, ExportStore, FinanceStore, PlanStore } from './operator-ports.js';
import { applyPlans, deletePlan, putPlan } from './plans/plans.js';
import { showPlan, showPlans } from './plans/show-plans.js';
import type { ShowStore } from './ports.js';
import { showUsageRecord, showUsageRecords } from './records/show-records.js';
import { putLimits, type PutLimitsDeps } from './subscriptions/limits.js';
import { showLimits, showSubscription } from './subscriptions/show-terms.js';
import { deleteSubscription, putSubscription, type SubscribeDeps } from './subscriptions/subscriptions.js';
import { addWalletEntry, type AddWalletEntryDeps } from './wallets/add-wallet-entry.js';

export interface RequestDeps {
  readonly load: LoadDeps;
  readonly fund: AddWalletEntryDeps;
  readonly close: CloseAccountDeps;
  readonly limits: PutLimitsDeps;
  readonly subscribe: SubscribeDeps;
  readonly plans: PlanStore;
  readonly show: ShowStore;
  readonly finance: FinanceStore;
  readonly exports: ExportStore;
  readonly audit: AuditStore;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Loads running at once; waiting ones after a loss of the gate hold no connection. */
const LOADS_MAX = 512;

type Server = Pick<Bus, 'serve'>;

/** Opens the doors of billing's requests. */
export function serveRequests(bus: Server, deps: RequestDeps): void {
  serveServices(bus, deps);
  serveChanges(bus, deps);
  serveShows(bus, deps);
}

/** What other services need to decide. */
function serveServices(bus: Server, { load, close, show, now }: RequestDeps): void {
  bus.serve(
    billingLoad,
    async (body) => {
      const loaded = await loadAccount(load, body);
      if (loaded.kind === 'behind') throw new BusFault('behind', 'not everything that was stored is settled');
      return loaded.answer;
    },
    { concurrencyMax: LOADS_MAX },
  );
  bus.serve(billingCloseAccount, (body) => closeAccount(close, body));
  bus.serve(billingFunding, ({ account }) => showFunding(show, account, now()));
}

function serveChanges(bus: Server, { fund, limits, subscribe, plans, now }: RequestDeps): void {
  bus.serve(billingAddWalletEntry, (body) => addWalletEntry(fund, body));
  bus.serve(billingPutLimits, (body) => putLimits(limits, body));
  bus.serve(billingPutSubscription, (body) => putSubscription(subscribe, body));
  bus.serve(billingDeleteSubscription, (body) => deleteSubscription(subscribe, body));
  bus.serve(billingPutPlan, (body) => putPlan({ store: plans, now }, body));
  bus.serve(billingDeletePlan, (body) => deletePlan({ store: plans, now }, body));
  bus.serve(billingApplyPlans, (body) => applyPlans({ store: plans, now }, body));
}

function serveShows(bus: Server, { show, plans, limits, subscribe, finance, exports, audit, now }: RequestDeps): void {
  bus.serve(billingWallet, ({ account }) => showWallet(show, account, now()));
  bus.serve(billingUsageRecord, ({ requestId }) => showUsageRecord(show, requestId));
  bus.serve(billingUsageRecords, (body) => showUsageRecords(show, body));
  bus.serve(billingLedger, (body) => showLedger(show, body));
  bus.serve(billingLedgerTransaction, (body) => showLedgerTransaction(show, body));
  bus.serve(billingTrialBalance, (body) => showTrialBalance(finance, body, now()));
  bus.serve(billingStatement, (body) => showStatement(finance, body));
  bus.serve(billingStatementLines, (body) => showStatementLines(finance, body));
  bus.serve(billingExportUsageRecords, (body) => exportUsageRecords(exports, body));
  bus.serve(billingExportLedgerEntries, (body) => exportLedgerEntries(exports, body));
  bus.serve(billingGetPlan, (body) => showPlan(plans, body));
  bus.serve(billingListPlans, (body) => showPlans(plans, body));
  bus.serve(billingGetLimits, ({ account }) => showLimits(limits.store, account));
  bus.serve(billingGetSubscription, ({ account }) => showSubscription(subscribe.store, account, now()));
  bus.serve(billingAudit, (body) => showAudit(audit, body));
}
