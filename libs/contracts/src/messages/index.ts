import {
  accountsCreateAccount,
  accountsCreateKey,
  accountsFind,
  accountsListAccounts,
  accountsLoad,
} from './accounts.js';
import { admissionApply, admissionAuthorize, admissionBatch, admissionUsage } from './admission.js';
import {
  billingAddWalletEntry,
  billingFunding,
  billingLedger,
  billingLoad,
  billingPutLimits,
  billingStanding,
  billingUsageRecord,
  billingUsageRecords,
  billingWallet,
} from './billing.js';
import { catalogPutModel, catalogPutProvider, catalogPutSource } from './catalog.js';
import { edgeBeat, edgeReport, edgeVerdict } from './edge.js';
import type { AnyMessage } from './message.js';
import { usageRecorded } from './usage.js';

/** Every message on the bus. Permissions, schema files and the test of the bus are derived from this table. */
export const MESSAGES: readonly AnyMessage[] = [
  admissionBatch,
  admissionAuthorize,
  admissionUsage,
  admissionApply,
  usageRecorded,
  edgeBeat,
  edgeVerdict,
  edgeReport,
  billingStanding,
  billingLoad,
  billingFunding,
  billingAddWalletEntry,
  billingPutLimits,
  billingWallet,
  billingUsageRecord,
  billingUsageRecords,
  billingLedger,
  accountsLoad,
  accountsFind,
  accountsCreateAccount,
  accountsCreateKey,
  accountsListAccounts,
  catalogPutProvider,
  catalogPutModel,
  catalogPutSource,
];

export * from './accounts.js';
export * from './admission.js';
export * from './billing.js';
export * from './call.js';
export * from './catalog.js';
export * from './edge.js';
export * from './message.js';
export * from './records.js';
export * from './scalars.js';
export * from './standing.js';
export * from './usage.js';
