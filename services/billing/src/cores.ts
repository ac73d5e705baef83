// What `deploy/verify/simulation` runs of this service: everything but its database and the bus.
export type { BatchDecision } from './domain/decide-batch.js';
export type { BalanceRow, LedgerTransaction, SetAside, UsageRecord } from './domain/facts.js';
export { toStandingRow } from './domain/facts.js';
export type { Subscription } from './domain/terms.js';
export { correctionStandings } from './domain/standing-parts.js';
export { composeTerms, NO_OVERRIDES } from './domain/terms.js';
export { decideWalletEntry } from './domain/wallet-entry.js';
export { startUsageWorker } from './doors/usage-worker.js';
export { loadAccount } from './load/load-account.js';
export type { AccountSnapshot, LoadStore, SettledPosition, SettleStore, StreamFacts } from './ports.js';
export { makeMonths } from './settle/ensure-months.js';
export { settleBatch } from './settle/settle-batch.js';
export { readDelivery } from './settle/read-delivery.js';
export type { UsageDelivery } from './settle/settle-deliveries.js';
