import { z } from 'zod';
import {
  applyChange,
  APPLY_OBJECTS_MAX,
  auditEntryView,
  cursor,
  exportFormat,
  ledgerTransactionView,
  limitsSpec,
  managementRefusal,
  PAGE_LIMIT_MAX,
  planObject,
  planSpec,
  planView,
  statementBy,
  statementLineView,
  statementView,
  subscriptionSpec,
  subscriptionView,
  trialBalanceView,
  usageRecordView,
  walletEntryCreate,
  walletEntryCreated,
  walletView,
} from '../operator/index.js';
import { commandAuthor } from './access.js';
import { managementBy } from './management.js';
import { published, request } from './message.js';
import { count, digest, epochMs, modelId, month, nanoUsd, nanoUsdPositive, objectId, requestId } from './scalars.js';
import { balanceSnapshot, versionedBalance } from './balance-snapshot.js';
import { UNCHANGED_ACCOUNTS_MAX, UNCHANGED_PARTS_MAX } from './records.js';
import { usageEvent } from './usage.js';

/**
 * What billing tells admission after each commit (docs/protocol.md#r8). Admission is one state: one
 * replica applies it.
 */
export const billingBalanceSnapshots = published({
  name: 'billing.standing',
  subject: 'billing.standing',
  version: 1,
  checkedInPlace: true,
  sentBy: ['billing'],
  servedBy: ['admission'],
  reaches: 'one',
  body: z.object({ incarnation: objectId, accounts: z.array(balanceSnapshot).min(1).max(500) }),
});

/**
 * The account's wallet, terms and running windows, the rows asked for by name (never written: value
 * 0, version 0; the wallet null), and which of the ids have their record, in one snapshot
 * (docs/protocol.md#r9 and docs/protocol.md#r11).
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
    /**
     * After a loss of the limit store: answered only when all that was stored before is settled;
     * else fault `behind`.
     */
    afterLoss: z.boolean(),
  }),
  answer: z.object({
    incarnation: objectId,
    standing: balanceSnapshot,
    /** Every event stored before this time is settled. */
    caughtUpTo: epochMs,
    /**
     * The account's version in the snapshot: whatever has a lower one, or this, was settled before
     * it.
     */
    version: count.optional(),
  }),
});

/**
 * Which of the accounts are as is said, in one snapshot in which everything is settled that was
 * stored before the question; else fault `behind` (docs/protocol.md#r12). An account is, when its
 * terms and each balance that is named have that version (0: never written), and when it has no
 * balance of a session or a week that runs or comes but those. A balance of anything else that is
 * not named says nothing.
 */
export const billingUnchanged = request({
  name: 'billing.unchanged',
  subject: 'billing.unchanged',
  version: 1,
  sentBy: ['admission'],
  servedBy: ['billing'],
  perReplica: false,
  answers: 'one',
  timeoutMs: 3_000,
  body: z.object({
    accounts: z
      .array(
        z.object({
          account: objectId,
          termsVersion: count,
          rows: z.array(versionedBalance.pick({ name: true, version: true })).max(UNCHANGED_PARTS_MAX),
        }),
      )
      .min(1)
      .max(UNCHANGED_ACCOUNTS_MAX),
  }),
  answer: z.object({
    incarnation: objectId,
    /** Those that are, each with its version in the snapshot. */
    accounts: z.array(z.object({ account: objectId, version: count })).max(UNCHANGED_ACCOUNTS_MAX),
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
    /**
     * Whether the ledger has the account: it has or had money, a plan, limits, a webhook or usage.
     * Absent from a billing of the version before.
     */
    inLedger: z.boolean().optional(),
  }),
});

const management = managementBy('billing');
const page = { cursor: cursor.nullable(), limit: z.int().min(1).max(PAGE_LIMIT_MAX) };
const nextCursor = z.string().nullable();

/**
 * Answered when admission has it; `not_in_force` after 5 s. The same reference again answers the
 * first entry.
 */
export const billingAddWalletEntry = request({
  ...management,
  name: 'billing.add-wallet-entry',
  subject: 'billing.add-wallet-entry',
  body: z.object({ account: objectId, spec: walletEntryCreate, author: commandAuthor }),
  answer: z.union([walletEntryCreated, managementRefusal]),
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

/**
 * Newest first, by the time of the call: [from, to). Filters that are absent let everything
 * through.
 */
export const billingUsageRecords = request({
  ...management,
  name: 'billing.usage-records',
  subject: 'billing.usage-records',
  body: z.object({
    account: objectId.nullable(),
    from: epochMs.nullable(),
    to: epochMs.nullable(),
    key: objectId.optional(),
    member: objectId.optional(),
    model: modelId.optional(),
    outcome: usageEvent.shape.outcome.optional(),
    requestId: requestId.optional(),
    /** True: only records with an attempt whose cost the provider reported. */
    reportsCost: z.boolean().optional(),
    ...page,
  }),
  answer: z.union([z.object({ records: z.array(usageRecordView), nextCursor }), managementRefusal]),
});

/** Newest first. */
export const billingLedger = request({
  ...management,
  name: 'billing.ledger',
  subject: 'billing.ledger',
  /** `withoutCalls`: only what no call caused. */
  body: z.object({ account: objectId, month: month.nullable(), withoutCalls: z.boolean().optional(), ...page }),
  answer: z.union([z.object({ transactions: z.array(ledgerTransactionView), nextCursor }), managementRefusal]),
});

export const billingLedgerTransaction = request({
  ...management,
  name: 'billing.ledger-transaction',
  subject: 'billing.ledger-transaction',
  body: z.object({ id: requestId }),
  answer: z.union([z.object({ transaction: ledgerTransactionView }), managementRefusal]),
});

/** Sums of all entries that were posted before `asOf` (null: until now). */
export const billingTrialBalance = request({
  ...management,
  name: 'billing.trial-balance',
  subject: 'billing.trial-balance',
  timeoutMs: 30_000,
  body: z.object({ asOf: epochMs.nullable() }),
  answer: z.union([z.object({ trialBalance: trialBalanceView }), managementRefusal]),
});

export const billingStatement = request({
  ...management,
  name: 'billing.statement',
  subject: 'billing.statement',
  timeoutMs: 30_000,
  body: z.object({ account: objectId, month }),
  answer: z.union([z.object({ statement: statementView }), managementRefusal]),
});

/**
 * What each key, member or model of an account used in a month, by id; of one key or member alone
 * if stated.
 */
export const billingStatementLines = request({
  ...management,
  name: 'billing.statement-lines',
  subject: 'billing.statement-lines',
  timeoutMs: 30_000,
  body: z.object({
    account: objectId,
    month,
    by: statementBy,
    key: objectId.nullable(),
    member: objectId.nullable(),
    ...page,
  }),
  answer: z.union([z.object({ lines: z.array(statementLineView), nextCursor }), managementRefusal]),
});

/** One page of a file. The texts of all pages, one after the other, are the file. */
const exportPage = z.object({
  text: z.string(),
  /** Of the text in UTF-8, hexadecimal. */
  sha256: digest,
  /** Without the head of a CSV. */
  lines: count,
  /** The id of the last line: what follows it is asked for with it. Null: no line. */
  lastId: z.string().nullable(),
  more: z.boolean(),
});
const exported = {
  account: objectId.nullable(),
  from: epochMs.nullable(),
  to: epochMs.nullable(),
  format: exportFormat,
};
/** `<transaction>.<ordinal>`; the database counts ordinals up to 32,767. */
export const entryId = z
  .string()
  .regex(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\.[1-9][0-9]{0,3}$/);

/**
 * Usage records as a file, in the order of their ids: of calls in [from, to), after the record
 * `after`.
 */
export const billingExportUsageRecords = request({
  ...management,
  name: 'billing.export-usage-records',
  subject: 'billing.export-usage-records',
  timeoutMs: 20_000,
  body: z.object({ ...exported, after: requestId.nullable() }),
  answer: z.union([exportPage, managementRefusal]),
});

/** Ledger entries as a file, in the order of their transactions' ids. */
export const billingExportLedgerEntries = request({
  ...management,
  name: 'billing.export-ledger-entries',
  subject: 'billing.export-ledger-entries',
  timeoutMs: 20_000,
  body: z.object({ ...exported, after: entryId.nullable() }),
  answer: z.union([exportPage, managementRefusal]),
});

/**
 * Ends the account's subscription and takes no credit and no subscription for it any more. Refused
 * with `state_conflict` while the wallet is not zero. Answered when admission has the terms; again
 * changes nothing.
 */
export const billingCloseAccount = request({
  ...management,
  name: 'billing.close-account',
  subject: 'billing.close-account',
  sentBy: ['accounts'],
  body: z.object({ account: objectId, author: commandAuthor }),
  answer: z.union([z.object({ closed: z.literal(true) }), managementRefusal]),
});

/** People in one message. */
export const ERASED_PEOPLE_MAX = 100;

/**
 * Erases networks and user agents from the audit entries of people whose last account was closed.
 * Repeating it changes nothing.
 */
export const billingEraseOrigins = request({
  ...management,
  name: 'billing.erase-origins',
  subject: 'billing.erase-origins',
  sentBy: ['accounts'],
  body: z.object({ people: z.array(objectId).min(1).max(ERASED_PEOPLE_MAX) }),
  answer: z.object({ entriesErased: count }),
});

/**
 * Replaces the account's overrides as a whole. Answered when admission has the new terms, as with
 * wallet entries.
 */
export const billingPutLimits = request({
  ...management,
  name: 'billing.put-limits',
  subject: 'billing.put-limits',
  body: z.object({ account: objectId, spec: limitsSpec, author: commandAuthor }),
  answer: z.union([z.object({ limits: limitsSpec }), managementRefusal]),
});

/** A change makes a new version; an equal spec makes none. Running subscriptions keep theirs. */
export const billingPutPlan = request({
  ...management,
  name: 'billing.put-plan',
  subject: 'billing.put-plan',
  body: z.object({ id: objectId, spec: planSpec, author: commandAuthor }),
  answer: z.union([
    z.object({ change: z.enum(['created', 'changed', 'unchanged']), plan: planView }),
    managementRefusal,
  ]),
});

export const billingGetPlan = request({
  ...management,
  name: 'billing.get-plan',
  subject: 'billing.get-plan',
  body: z.object({ id: objectId }),
  answer: z.union([z.object({ plan: planView }), managementRefusal]),
});

export const billingListPlans = request({
  ...management,
  name: 'billing.list-plans',
  subject: 'billing.list-plans',
  body: z.object(page),
  answer: z.union([z.object({ plans: z.array(planView), nextCursor }), managementRefusal]),
});

/**
 * Refused with `in_use` while a subscription period that has not ended is on it. Versions stay for
 * ever.
 */
export const billingDeletePlan = request({
  ...management,
  name: 'billing.delete-plan',
  subject: 'billing.delete-plan',
  body: z.object({ id: objectId, author: commandAuthor }),
  answer: z.union([z.object({ deleted: z.literal(true) }), managementRefusal]),
});

/** All plans in one transaction or none, as with catalog.apply. */
export const billingApplyPlans = request({
  ...management,
  name: 'billing.apply-plans',
  subject: 'billing.apply-plans',
  timeoutMs: 15_000,
  body: z.object({
    plans: z.array(planObject).max(APPLY_OBJECTS_MAX),
    prune: z.boolean(),
    dryRun: z.boolean(),
    author: commandAuthor,
  }),
  answer: z.union([z.object({ changes: z.array(applyChange), unchanged: count }), managementRefusal]),
});

/**
 * Replaces the account's subscription: a period that begins now or earlier takes the place of the
 * running one, a later one follows it. Answered when admission has the terms.
 */
export const billingPutSubscription = request({
  ...management,
  name: 'billing.put-subscription',
  subject: 'billing.put-subscription',
  body: z.object({ account: objectId, spec: subscriptionSpec, author: commandAuthor }),
  answer: z.union([
    z.object({ change: z.enum(['created', 'changed', 'unchanged']), subscription: subscriptionView }),
    managementRefusal,
  ]),
});

export const billingGetSubscription = request({
  ...management,
  name: 'billing.get-subscription',
  subject: 'billing.get-subscription',
  body: z.object({ account: objectId }),
  answer: z.union([z.object({ subscription: subscriptionView }), managementRefusal]),
});

/** Ends the running period and those to come, now. Answered when admission has the terms. */
export const billingDeleteSubscription = request({
  ...management,
  name: 'billing.delete-subscription',
  subject: 'billing.delete-subscription',
  body: z.object({ account: objectId, author: commandAuthor }),
  answer: z.union([z.object({ deleted: z.literal(true) }), managementRefusal]),
});

export const billingGetLimits = request({
  ...management,
  name: 'billing.get-limits',
  subject: 'billing.get-limits',
  body: z.object({ account: objectId }),
  answer: z.union([z.object({ limits: limitsSpec }), managementRefusal]),
});

export const billingAudit = request({
  ...management,
  name: 'billing.audit',
  subject: 'billing.audit',
  body: z.object({ account: objectId.nullable(), object: z.string().max(200).nullable(), ...page }),
  answer: z.union([z.object({ entries: z.array(auditEntryView), nextCursor }), managementRefusal]),
});
