import { z } from 'zod';
import { tokenKinds } from '../messages/call.js';
import { ATTEMPT_OUTCOMES } from '../messages/usage.js';
import { priceClass } from './profile.js';
import { label, lineOfText, month, objectId, time, usdMoved } from './scalars.js';

export const walletView = z.object({ balanceUsd: z.string().nullable(), heldUsd: z.string() });

/** Negative amounts take. `reference` is unique: the same one again changes nothing. */
export const walletEntryCreate = z.object({
  amountUsd: usdMoved,
  kind: z.enum(['credit', 'refund', 'chargeback', 'adjustment']),
  reason: label,
  reference: lineOfText(200),
  relatesTo: objectId.nullish(),
});
export type WalletEntryCreate = z.output<typeof walletEntryCreate>;

const recordTokens = z.object({
  /** All input; what was read from or written to a cache is part of it. */
  input: z.int(),
  cachedInput: z.int(),
  /** Written for five minutes, or for a time that is not known. */
  cacheWrite: z.int(),
  /** Written for an hour. */
  cacheWrite1h: z.int(),
  output: z.int(),
});

export const usageRecordView = z.object({
  requestId: z.string(),
  accountId: objectId,
  keyId: objectId,
  memberId: objectId,
  modelId: z.string(),
  sourceId: objectId.nullable(),
  endpoint: z.string().nullable(),
  streamed: z.boolean(),
  outcome: z.enum(['settled', 'voided', 'expired']),
  evidence: z.enum(['reported', 'estimated', 'none']),
  tokens: recordTokens.nullable(),
  priceVersion: z.string().nullable(),
  chargedUsd: z.string(),
  planUsd: z.string(),
  walletUsd: z.string(),
  costUsd: z.string().nullable(),
  attempts: z.array(
    z.object({
      sourceId: objectId,
      outcome: z.enum(ATTEMPT_OUTCOMES),
      status: z.int().nullable(),
      possiblyPaid: z.boolean(),
      /** What the response reported as the provider's charge. Absent: it reported nothing. */
      reportedCostUsd: z.string().optional(),
    }),
  ),
  startedAt: time,
  endedAt: time,
  /** The price class that was billed. From here on absent in answers of a release before these. */
  class: priceClass.optional(),
  /** Uses of tools that run at the provider. */
  units: z.record(z.string(), z.int()).optional(),
  /** Tokens that are no text; null: none, or no usage. */
  kinds: tokenKinds.nullish(),
  /**
   * The samplings of an answer that has several; their sums are `tokens` and `kinds`. The input of
   * each one decided the tier of its tokens.
   */
  samplings: z.array(recordTokens.extend({ kinds: tokenKinds.nullable() })).optional(),
  /** Classes, units and kinds of tokens that were served and have no price. */
  unpriced: z.array(z.string()).optional(),
});
export type UsageRecordView = z.infer<typeof usageRecordView>;

/** A line of an export of usage records: the view, with what finance asks of attempts. */
export const usageRecordLine = usageRecordView.extend({
  attempts: z.array(
    usageRecordView.shape.attempts.element.extend({
      providerId: objectId,
      costVersion: z.string().nullable(),
      /** Null while the attempt's usage or its cost is not known. */
      costUsd: z.string().nullable(),
    }),
  ),
  /** When the record was written, or replaced by one that outranks it. */
  recordedAt: time,
});
export type UsageRecordLine = z.infer<typeof usageRecordLine>;

/**
 * A line of an export of ledger entries. The lines of a transaction follow each other and sum to
 * zero.
 */
export const ledgerEntryLine = z.object({
  /** `<transaction>.<ordinal>`. */
  entryId: z.string(),
  transactionId: z.string(),
  kind: z.string(),
  accountId: objectId,
  requestId: z.string().nullable(),
  /** The transaction that this one corrects. */
  corrects: z.string().nullable(),
  ledgerAccount: z.string(),
  amountUsd: z.string(),
  at: time,
  /** Of wallet entries; null for usage. */
  reference: z.string().nullable(),
  reason: z.string().nullable(),
  relatesTo: z.string().nullable(),
  actor: z.string().nullable(),
});
export type LedgerEntryLine = z.infer<typeof ledgerEntryLine>;

export const exportFormat = z.enum(['csv', 'jsonl']);
export type ExportFormat = z.infer<typeof exportFormat>;

/** Signed amounts that sum to zero. */
export const ledgerTransactionView = z.object({
  id: objectId,
  kind: z.string(),
  requestId: z.string().nullable(),
  at: time,
  /** In lists, of money that was added or taken by hand: what was given with it. */
  reference: z.string().optional(),
  reason: z.string().optional(),
  entries: z.array(z.object({ ledgerAccount: z.string(), amountUsd: z.string() })),
});
export type LedgerTransactionView = z.infer<typeof ledgerTransactionView>;

export const walletEntryCreated = z.object({
  transaction: ledgerTransactionView,
  balanceUsd: z.string(),
  /** The reference was used before: this is the first entry, and nothing was added. */
  repeated: z.boolean(),
});

/**
 * All ledger accounts of one class at one instant; wallets and plans are sums over all customers.
 */
export const trialBalanceView = z.object({
  asOf: time,
  accounts: z.array(z.object({ ledgerAccount: z.string(), amountUsd: z.string() })),
  /** Always zero. */
  totalUsd: z.string(),
});
export type TrialBalanceView = z.infer<typeof trialBalanceView>;

const spend = { calls: z.int(), chargedUsd: z.string(), planUsd: z.string(), walletUsd: z.string() };

/** Keys, members and models that a statement shows one by one, those with the largest charges. */
export const STATEMENT_LINES_MAX = 200;
const omitted = z.object({ entries: z.int(), ...spend });

/** What statement lines are made for. */
export const statementBy = z.enum(['key', 'member', 'model']);
export type StatementBy = z.infer<typeof statementBy>;
/** What one key, member or model used in a month. */
export const statementLineView = z.object({ id: z.string(), ...spend });
export type StatementLineView = z.infer<typeof statementLineView>;

/** One account and calendar month (UTC), by the time of the calls; it adds up to the ledger. */
export const statementView = z.object({
  accountId: objectId,
  month,
  openingBalanceUsd: z.string(),
  closingBalanceUsd: z.string(),
  /** Sums of the wallet's movements by kind of ledger transaction, signed. */
  movements: z.array(z.object({ kind: z.string(), amountUsd: z.string(), transactions: z.int() })),
  usage: z.object(spend),
  byKey: z.array(z.object({ keyId: objectId, ...spend })),
  byMember: z.array(z.object({ memberId: objectId, ...spend })),
  byModel: z.array(z.object({ modelId: z.string(), ...spend })),
  /** How many were left out above, and their sums: with them each list adds up to `usage`. */
  omitted: z.object({ keys: omitted, members: omitted, models: omitted }),
});
export type StatementView = z.infer<typeof statementView>;
