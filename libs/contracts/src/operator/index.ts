export { OPERATOR_ERRORS, managementRefusal } from './errors.js';
export type { ManagementRefusal, OperatorErrorCode } from './errors.js';
export { modelSpec, pricesSpec, providerSpec, sourceSpec } from './catalog.js';
export type { ModelSpec, PricesSpec, ProviderSpec, SourceSpec } from './catalog.js';
export { accountCreate, accountView, keyCreate, keyView, limitsSpec } from './accounts.js';
export type { AccountCreate, AccountView, KeyCreate, KeyView, LimitsSpec } from './accounts.js';
export { ledgerTransactionView, usageRecordView, walletEntryCreate, walletView } from './money.js';
export type { LedgerTransactionView, UsageRecordView, WalletEntryCreate } from './money.js';
