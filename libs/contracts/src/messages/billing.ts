import { z } from 'zod';
import {
  ledgerTransactionView,
  limitsSpec,
  managementRefusal,
  usageRecordView,
  walletEntryCreate,
  walletView,
} from '../operator/index.js';
import { published, request } from './message.js';
import { count, epochMs, month, nanoUsd, nanoUsdPositive, objectId, requestId } from './scalars.js';
import { standingOfAccount } from './standing.js';

/** What billing tells admission after each commit (money and failure, rule 8). Admission is one state: one replica applies it. */
export const billingStanding = published({
  name: 'billing.standing',
  subject: 'billing.standing',
  version: 1,
  sentBy: ['billing'],
  servedBy: ['admission'],
  reaches: 'one',
  body: z.object({ incarnation: objectId, accounts: z.array(standingOfAccount).min(1).max(500) }),
});

/**
 * The account's wallet, terms and running windows, the rows asked for by name (never written: value 0, version 0; the
 * wallet null), and which of the ids have their record, in one snapshot (rules 9 and 11).
 */
export const billingLoad = request({
  name: 'billing.load',
  subject: 'billing.load',
  version: 1,
  sentBy: ['admission'],
  servedBy: ['billing'],
  perReplica: false,
  answers: 'one',
  timeoutMs: 1_500,
  body: z.object({
    account: objectId,
    names: z.array(z.string().min(1).max(300)).max(100),
    ids: z.array(requestId).max(1_000),
    /** After a loss of the gate: answered only when all that was stored before is settled; else fault `behind`. */
    afterLoss: z.boolean(),
  }),
  answer: z.object({
    incarnation: objectId,
    standing: standingOfAccount,
    /** Every event stored before this time is settled. */
    caughtUpTo: epochMs,
  }),
});

/** Funding facts for the key rules. */
export const billingFunding = request({
  name: 'billing.funding',
  subject: 'billing.funding',
  version: 1,
  sentBy: ['accounts', 'dashboard'],
  servedBy: ['billing'],
  perReplica: false,
  answers: 'one',
  timeoutMs: 2_000,
  body: z.object({ account: objectId }),
  answer: z.object({
    walletNanoUsd: nanoUsd.nullable(),
    planActive: z.boolean(),
    activeKeysMax: count,
    defaultKeyCapNanoUsd: nanoUsdPositive.nullable(),
  }),
});

const management = {
  version: 1,
  sentBy: ['dashboard'],
  servedBy: ['billing'],
  perReplica: false,
  answers: 'one',
  timeoutMs: 7_000,
} as const;
const actor = z.string().min(1).max(200);
const page = { cursor: z.string().max(200).nullable(), limit: z.int().min(1).max(200) };

/** Answered when admission has it; `not_in_force` after 5 s. The same reference again answers the first entry. */
export const billingAddWalletEntry = request({
  ...management,
  name: 'billing.add-wallet-entry',
  subject: 'billing.add-wallet-entry',
  body: z.object({ account: objectId, spec: walletEntryCreate, actor }),
  answer: z.union([
    z.object({ transaction: ledgerTransactionView, balanceUsd: z.string(), repeated: z.boolean() }),
    managementRefusal,
  ]),
});

/** The settled balance; what running calls hold is known to admission only. */
export const billingWallet = request({
  ...management,
  name: 'billing.wallet',
  subject: 'billing.wallet',
  body: z.object({ account: objectId }),
  answer: walletView.pick({ balanceUsd: true }),
});

export const billingUsageRecord = request({
  ...management,
  name: 'billing.usage-record',
  subject: 'billing.usage-record',
  body: z.object({ requestId }),
  answer: z.union([
    z.object({ record: usageRecordView, transactions: z.array(ledgerTransactionView) }),
    managementRefusal,
  ]),
});

export const billingUsageRecords = request({
  ...management,
  name: 'billing.usage-records',
  subject: 'billing.usage-records',
  body: z.object({ account: objectId.nullable(), from: epochMs.nullable(), to: epochMs.nullable(), ...page }),
  answer: z.object({ records: z.array(usageRecordView), nextCursor: z.string().nullable() }),
});

export const billingLedger = request({
  ...management,
  name: 'billing.ledger',
  subject: 'billing.ledger',
  body: z.object({ account: objectId, month: month.nullable(), ...page }),
  answer: z.object({ transactions: z.array(ledgerTransactionView), nextCursor: z.string().nullable() }),
});

/** Replaces the account's overrides as a whole. Answered when admission has the new terms, as with wallet entries. */
export const billingPutLimits = request({
  ...management,
  name: 'billing.put-limits',
  subject: 'billing.put-limits',
  body: z.object({ account: objectId, spec: limitsSpec, actor }),
  answer: z.union([z.object({ limits: limitsSpec }), managementRefusal]),
});
