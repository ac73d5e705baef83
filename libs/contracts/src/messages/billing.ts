import { z } from 'zod';
import {
  APPLY_OBJECTS_MAX,
  PAGE_LIMIT_MAX,
  applyChange,
  auditEntryView,
  cursor,
  exportFormat,
  ledgerTransactionView,
  limitsSpec,
  managementRefusal,
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
import { balanceSnapshot, versionedBalance } from './balance-snapshot.js';
import { managementBy, published, request } from './message.js';
import { UNCHANGED_ACCOUNTS_MAX, UNCHANGED_PARTS_MAX } from './records.js';
import {
  count,
  digest,
  epochMs,
  ledgerEpoch,
  modelId,
  month,
  nanoUsd,
  nanoUsdPositive,
  objectId,
  requestId,
} from './scalars.js';
import { usageEvent } from './usage.js';

/**
 * Sends admission the balances that a commit changed and the IDs of settled requests, which end
 * their holds (docs/protocol.md#r8). One replica of admission applies them to the limit store.
 */
export const billingBalanceSnapshots = published({
  name: 'billing.balance-snapshot',
  checkedInPlace: true,
  sentBy: ['billing'],
  servedBy: ['admission'],
  reaches: 'one',
  body: z.object({ ledgerEpoch, accounts: z.array(balanceSnapshot).min(1).max(500) }),
});

/**
 * Loads from one snapshot the account's wallet, terms, running windows and named balances, and the
 * IDs that have a usage record (docs/protocol.md#r9 and docs/protocol.md#r11). A balance that was
 * never written has value 0 and version 0; such a wallet is null.
 */
export const billingLoad = request({
  name: 'billing.load',
  sentBy: ['admission'],
  servedBy: ['billing'],
  timeoutMs: 1_500,
  body: z.object({
    account: objectId,
    names: z.array(z.string().min(1).max(300)).max(100),
    ids: z.array(requestId).max(1_000),
    /**
     * True after a loss of the limit store. Billing then responds only if everything stored before
     * is settled, else with the fault `behind`.
     */
    afterLoss: z.boolean(),
  }),
  answer: z.object({
    ledgerEpoch,
    snapshot: balanceSnapshot,
    /** Every event stored before this time is settled. */
    caughtUpTo: epochMs,
    /** The account's version. All changes up to this version are in the snapshot. */
    version: count,
  }),
});

/**
 * Returns the accounts that are unchanged, from one snapshot in which everything stored before the
 * request is settled; else the fault `behind` (docs/protocol.md#r12). An account is unchanged if
 * its terms and each listed balance have the given version (0: never written), and all its balances
 * of current and later sessions and weeks are listed. Other balances may be missing from the list.
 */
export const billingUnchanged = request({
  name: 'billing.unchanged',
  sentBy: ['admission'],
  servedBy: ['billing'],
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
    ledgerEpoch,
    /** The unchanged accounts, each with its version in the snapshot. */
    accounts: z.array(z.object({ account: objectId, version: count })).max(UNCHANGED_ACCOUNTS_MAX),
  }),
});

/** Returns the wallet, plan and key limits of an account, for keys and unverified sign-ups. */
export const billingFunding = request({
  name: 'billing.funding',
  sentBy: ['accounts'],
  servedBy: ['billing'],
  timeoutMs: 2_000,
  body: z.object({ account: objectId }),
  answer: z.object({
    walletNanoUsd: nanoUsd.nullable(),
    planActive: z.boolean(),
    activeKeysMax: count,
    defaultKeyCapNanoUsd: nanoUsdPositive.nullable(),
    /** Whether the ledger has the account: it has or had money, a plan, limits or usage. */
    inLedger: z.boolean(),
  }),
});

const management = managementBy('billing');
const page = { cursor: cursor.nullable(), limit: z.int().min(1).max(PAGE_LIMIT_MAX) };
const nextCursor = z.string().nullable();

/**
 * Responds after admission has applied the entry, or with `not_in_force` after 5 s. A repeated
 * reference returns the first entry.
 */
export const billingAddWalletEntry = request({
  ...management,
  name: 'billing.add-wallet-entry',
  body: z.object({ account: objectId, spec: walletEntryCreate, author: commandAuthor }),
  answer: z.union([walletEntryCreated, managementRefusal]),
});

/** Returns the settled balance. Only admission knows the amounts that running calls hold. */
export const billingWallet = request({
  ...management,
  name: 'billing.wallet',
  body: z.object({ account: objectId }),
  answer: walletView.pick({ balanceUsd: true }),
});

export const billingUsageRecord = request({
  ...management,
  name: 'billing.usage-record',
  body: z.object({ requestId }),
  answer: z.union([
    z.object({ record: usageRecordView, transactions: z.array(ledgerTransactionView) }),
    managementRefusal,
  ]),
});

/** Lists records of calls in [from, to), newest first. An absent filter matches all records. */
export const billingUsageRecords = request({
  ...management,
  name: 'billing.usage-records',
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
  /** `withoutCalls`: only transactions that no call caused. */
  body: z.object({ account: objectId, month: month.nullable(), withoutCalls: z.boolean().optional(), ...page }),
  answer: z.union([z.object({ transactions: z.array(ledgerTransactionView), nextCursor }), managementRefusal]),
});

export const billingLedgerTransaction = request({
  ...management,
  name: 'billing.ledger-transaction',
  body: z.object({ id: requestId }),
  answer: z.union([z.object({ transaction: ledgerTransactionView }), managementRefusal]),
});

/** Sums all entries posted before `asOf` (null: until now). */
export const billingTrialBalance = request({
  ...management,
  name: 'billing.trial-balance',
  timeoutMs: 30_000,
  body: z.object({ asOf: epochMs.nullable() }),
  answer: z.union([z.object({ trialBalance: trialBalanceView }), managementRefusal]),
});

export const billingStatement = request({
  ...management,
  name: 'billing.statement',
  timeoutMs: 30_000,
  body: z.object({ account: objectId, month }),
  answer: z.union([z.object({ statement: statementView }), managementRefusal]),
});

/**
 * Returns the monthly usage of each key, member or model of an account, by ID, or of one key or
 * member if it is set.
 */
export const billingStatementLines = request({
  ...management,
  name: 'billing.statement-lines',
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

/** One page of an export file. The file is the concatenation of the texts of all pages. */
const exportPage = z.object({
  text: z.string(),
  /** SHA-256 of the text in UTF-8, hexadecimal. */
  sha256: digest,
  /** Number of lines without the CSV header. */
  lines: count,
  /** The ID of the last line, with which the next page is requested. Null: no line. */
  lastId: z.string().nullable(),
  more: z.boolean(),
});
const exported = {
  account: objectId.nullable(),
  from: epochMs.nullable(),
  to: epochMs.nullable(),
  format: exportFormat,
};
/** `<transaction>.<ordinal>`. Ordinals in the database are at most 32,767. */
export const entryId = z
  .string()
  .regex(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\.[1-9][0-9]{0,3}$/);

/** Exports usage records of calls in [from, to) by record ID, beginning after `after`. */
export const billingExportUsageRecords = request({
  ...management,
  name: 'billing.export-usage-records',
  timeoutMs: 20_000,
  body: z.object({ ...exported, after: requestId.nullable() }),
  answer: z.union([exportPage, managementRefusal]),
});

/** Exports ledger entries as a file, by transaction ID. */
export const billingExportLedgerEntries = request({
  ...management,
  name: 'billing.export-ledger-entries',
  timeoutMs: 20_000,
  body: z.object({ ...exported, after: entryId.nullable() }),
  answer: z.union([exportPage, managementRefusal]),
});

/**
 * Ends the account's subscription and refuses further credit and subscriptions. Refused with
 * `state_conflict` if the wallet is not zero. Responds after admission has applied the terms.
 * Repeating it changes nothing.
 */
export const billingCloseAccount = request({
  ...management,
  name: 'billing.close-account',
  sentBy: ['accounts'],
  body: z.object({ account: objectId, author: commandAuthor }),
  answer: z.union([z.object({ closed: z.literal(true) }), managementRefusal]),
});

/** Maximum number of people in one message. */
export const ERASED_PEOPLE_MAX = 100;

/**
 * Erases networks and user agents from the audit entries of people whose last account was closed.
 * Repeating it changes nothing.
 */
export const billingEraseOrigins = request({
  ...management,
  name: 'billing.erase-origins',
  sentBy: ['accounts'],
  body: z.object({ people: z.array(objectId).min(1).max(ERASED_PEOPLE_MAX) }),
  answer: z.object({ entriesErased: count }),
});

/**
 * Replaces all overrides of an account. Responds after admission has applied the terms, as for
 * wallet entries.
 */
export const billingPutLimits = request({
  ...management,
  name: 'billing.put-limits',
  body: z.object({ account: objectId, spec: limitsSpec, author: commandAuthor }),
  answer: z.union([z.object({ limits: limitsSpec }), managementRefusal]),
});

/** Creates a new version if the spec changed. Running subscriptions keep their version. */
export const billingPutPlan = request({
  ...management,
  name: 'billing.put-plan',
  body: z.object({ id: objectId, spec: planSpec, author: commandAuthor }),
  answer: z.union([
    z.object({ change: z.enum(['created', 'changed', 'unchanged']), plan: planView }),
    managementRefusal,
  ]),
});

export const billingGetPlan = request({
  ...management,
  name: 'billing.get-plan',
  body: z.object({ id: objectId }),
  answer: z.union([z.object({ plan: planView }), managementRefusal]),
});

export const billingListPlans = request({
  ...management,
  name: 'billing.list-plans',
  body: z.object(page),
  answer: z.union([z.object({ plans: z.array(planView), nextCursor }), managementRefusal]),
});

/**
 * Refused with `in_use` if a current or future subscription period uses the plan. Versions are kept
 * indefinitely.
 */
export const billingDeletePlan = request({
  ...management,
  name: 'billing.delete-plan',
  body: z.object({ id: objectId, author: commandAuthor }),
  answer: z.union([z.object({ deleted: z.literal(true) }), managementRefusal]),
});

/** Applies all plans in one transaction or none, like catalog.apply. */
export const billingApplyPlans = request({
  ...management,
  name: 'billing.apply-plans',
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
 * Replaces the account's subscription. A period that begins now or earlier replaces the running
 * one, and a later period follows it. Responds after admission has applied the terms.
 */
export const billingPutSubscription = request({
  ...management,
  name: 'billing.put-subscription',
  body: z.object({ account: objectId, spec: subscriptionSpec, author: commandAuthor }),
  answer: z.union([
    z.object({ change: z.enum(['created', 'changed', 'unchanged']), subscription: subscriptionView }),
    managementRefusal,
  ]),
});

export const billingGetSubscription = request({
  ...management,
  name: 'billing.get-subscription',
  body: z.object({ account: objectId }),
  answer: z.union([z.object({ subscription: subscriptionView }), managementRefusal]),
});

/** Ends the current and later periods. Responds after admission has applied the terms. */
export const billingDeleteSubscription = request({
  ...management,
  name: 'billing.delete-subscription',
  body: z.object({ account: objectId, author: commandAuthor }),
  answer: z.union([z.object({ deleted: z.literal(true) }), managementRefusal]),
});

export const billingGetLimits = request({
  ...management,
  name: 'billing.get-limits',
  body: z.object({ account: objectId }),
  answer: z.union([z.object({ limits: limitsSpec }), managementRefusal]),
});

export const billingAudit = request({
  ...management,
  name: 'billing.audit',
  body: z.object({ account: objectId.nullable(), object: z.string().max(200).nullable(), ...page }),
  answer: z.union([z.object({ entries: z.array(auditEntryView), nextCursor }), managementRefusal]),
});
