// What `deploy/verify/simulation` runs of this service: everything but its database and the bus.
export type { BatchDecision } from './usage/batch-ledger-rules.js';
export type { Balance, LedgerTransaction } from './ledger/rules.js';
export type { DeadLetter } from './usage/rules.js';
export type { UsageRecord } from './records/rules.js';
export { toBalanceMessage } from './ledger/rules.js';
export type { Subscription } from './subscriptions/terms-rules.js';
export { correctionSnapshots } from './usage/snapshot-rules.js';
export { composeTerms, NO_OVERRIDES } from './subscriptions/terms-rules.js';
export { decideWalletEntry } from './wallets/rules.js';
export { startUsageWorker } from './usage/worker.js';
export { loadAccount } from './accounts/load-account.js';
export type { AccountSnapshot, LoadStore } from './accounts/load-store.js';
export type { SettledPosition, StreamState } from './usage/progress-rules.js';
export type { SettleStore } from './usage/settle-store.js';
export { createMonths } from './ledger/months.js';
export { settleBatch } from './usage/settle-batch.js';
export { readDelivery } from './usage/read-delivery.js';
export type { UsageDelivery } from './usage/read-chunks.js';
