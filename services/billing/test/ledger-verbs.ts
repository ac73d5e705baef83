import type { ReceivedOf, AnswerBodyOf } from '@gateway/contracts/messages';
import type { billingExportLedgerEntries, billingExportUsageRecords, UsageEvent } from '@gateway/contracts/messages';
import type { WalletEntryCreate } from '@gateway/contracts/operator';
import type { TestDatabase } from '@gateway/testkit';
import { exportLedgerEntries, exportUsageRecords } from '../src/exports/handlers.js';
import { createExportStore } from '../src/exports/store.js';
import { createFinanceStore } from '../src/finance/store.js';
import { createMonths } from '../src/ledger/months.js';
import { createTransactionStore } from '../src/ledger/transactions-store.js';
import { putPlan } from '../src/plans/handlers.js';
import { createPlanStore } from '../src/plans/store.js';
import { putSubscription } from '../src/subscriptions/handlers.js';
import { createSubscriptionStore } from '../src/subscriptions/store.js';
import { settleBatch } from '../src/usage/settle-batch.js';
import { createSettlementStore } from '../src/usage/commit/settlement-store.js';
import { addWalletEntry } from '../src/wallets/handlers.js';
import { createWalletStore } from '../src/wallets/store.js';
import { expectAccepted } from './accepted.js';
import { toReceivedEvents } from './events.js';
import { createRecordStore } from '../src/records/store.js';

/** Author of the tests' commands. */
export const AUTHOR = {
  actor: 'operator:ada',
  origin: { client: '192.0.2.1', agent: 'tests', requestId: 'req_test' },
} as const;

type Page = Exclude<AnswerBodyOf<typeof billingExportUsageRecords>, { refused: unknown }>;
type Wanted = Partial<Omit<ReceivedOf<typeof billingExportUsageRecords>, 'after'>>;

/** Runs commands on a ledger without a bus; admission applies every change immediately. */
export function ledgerVerbs(ledger: TestDatabase) {
  const settleStore = createSettlementStore(ledger.pool);
  const months = createMonths(settleStore);
  const transactions = createTransactionStore(ledger.pool);
  const records = createRecordStore(ledger.pool);
  const finance = createFinanceStore(ledger.pool);
  const exports = createExportStore(ledger.pool);
  const inForce = { awaitDelivered: () => Promise.resolve(true) };
  const wanted = (changes: Wanted) => ({ account: null, from: null, to: null, format: 'jsonl' as const, ...changes });
  const recordsPage = async (changes: Wanted, after: string | null): Promise<Page> =>
    expectAccepted(await exportUsageRecords(exports, { ...wanted(changes), after }));
  const entriesPage = async (
    changes: Partial<ReceivedOf<typeof billingExportLedgerEntries>>,
    after: string | null,
  ): Promise<Page> => expectAccepted(await exportLedgerEntries(exports, { ...wanted(changes), after }));
  return {
    transactions,
    records,
    finance,
    settle: (...events: UsageEvent[]) =>
      settleBatch(settleStore, months, { received: toReceivedEvents(...events), deadLetters: [], applied: [] }),
    fund: (account: string, spec: WalletEntryCreate, now: number) =>
      addWalletEntry(
        { inForce, store: createWalletStore(ledger.pool), transactions, months, now: () => now },
        { account, spec, author: AUTHOR },
      ),
    async plan(id: string, now: number) {
      const spec = {
        name: id,
        tier: id,
        models: null,
        requestsPerMinute: 60,
        concurrency: 10,
        maxActiveKeys: 3,
        windows: [],
        modelAllotments: [],
        defaultKeySpendCapUsd: null,
      };
      expectAccepted(
        await putPlan({ store: createPlanStore(ledger.pool), now: () => now }, { id, spec, author: AUTHOR }),
      );
    },
    async subscribe(account: string, planId: string, start: number, end: number, now: number): Promise<string> {
      const [periodStart, periodEnd] = [new Date(start).toISOString(), new Date(end).toISOString()];
      const request = { account, spec: { planId, periodStart, periodEnd, renews: false }, author: AUTHOR };
      const deps = { store: createSubscriptionStore(ledger.pool), inForce, now: () => now };
      return expectAccepted(await putSubscription(deps, request)).subscription.id;
    },
    recordsPage,
    entriesPage,
    recordsFile: (changes: Wanted = {}, after: string | null = null) => fileOf(recordsPage, changes, after),
    entriesFile: (changes: Wanted = {}, after: string | null = null) => fileOf(entriesPage, changes, after),
  };
}

export type LedgerCommandsForTests = ReturnType<typeof ledgerVerbs>;

/** Reads all pages, one after the other. */
async function fileOf(
  pageOf: (changes: Wanted, after: string | null) => Promise<Page>,
  changes: Wanted,
  after: string | null,
): Promise<{ text: string; pages: Page[] }> {
  const pages: Page[] = [];
  for (let place = after; ;) {
    const page = await pageOf(changes, place);
    pages.push(page);
    if (!page.more) return { text: pages.map(({ text }) => text).join(''), pages };
    place = page.lastId;
  }
}
