import { z } from 'zod';
import { recordViewFields } from '../messages/usage-record.js';
import { label, lineOfText, month, objectId, time, usdMoved } from './scalars.js';

export const walletView = z.object({ balanceUsd: z.string().nullable(), heldUsd: z.string() });

/**
 * A wallet entry. A negative amount is taken from the wallet. `reference` is unique: a repeated one
 * changes nothing.
 */
export const walletEntryCreate = z.object({
  amountUsd: usdMoved,
  kind: z.enum(['credit', 'refund', 'chargeback', 'adjustment']),
  reason: label,
  reference: lineOfText(200),
  relatesTo: objectId.nullish(),
});
export type WalletEntryCreate = z.output<typeof walletEntryCreate>;

export const usageRecordView = z.object(recordViewFields);
export type UsageRecordView = z.infer<typeof usageRecordView>;

/** A line of a usage record export: the view, with the cost fields of attempts for finance. */
export const usageRecordLine = usageRecordView.extend({
  attempts: z.array(
    usageRecordView.shape.attempts.element.extend({
      providerId: objectId,
      costVersion: z.string().nullable(),
      /** Null if the usage or the cost of the attempt is unknown. */
      costUsd: z.string().nullable(),
    }),
  ),
  /** When the record was written or replaced by one of a higher rank. */
  recordedAt: time,
});
export type UsageRecordLine = z.infer<typeof usageRecordLine>;

/** A line of a ledger entry export. The lines of a transaction are adjacent and sum to zero. */
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
  /** Set for wallet entries. Null for usage. */
  reference: z.string().nullable(),
  reason: z.string().nullable(),
  relatesTo: z.string().nullable(),
  actor: z.string().nullable(),
});
export type LedgerEntryLine = z.infer<typeof ledgerEntryLine>;

export const exportFormat = z.enum(['csv', 'jsonl']);
export type ExportFormat = z.infer<typeof exportFormat>;

/** A ledger transaction. Its signed amounts sum to zero. */
export const ledgerTransactionView = z.object({
  id: objectId,
  kind: z.string(),
  requestId: z.string().nullable(),
  at: time,
  /** Set in lists for manual wallet entries. */
  reference: z.string().optional(),
  reason: z.string().optional(),
  entries: z.array(z.object({ ledgerAccount: z.string(), amountUsd: z.string() })),
});
export type LedgerTransactionView = z.infer<typeof ledgerTransactionView>;

export const walletEntryCreated = z.object({
  transaction: ledgerTransactionView,
  balanceUsd: z.string(),
  /** Whether the reference was used before. The first entry is returned and nothing was added. */
  repeated: z.boolean(),
});

/** Totals of all ledger accounts at one instant. Wallets and plans are sums over customers. */
export const trialBalanceView = z.object({
  asOf: time,
  accounts: z.array(z.object({ ledgerAccount: z.string(), amountUsd: z.string() })),
  /** Always zero. */
  totalUsd: z.string(),
});
export type TrialBalanceView = z.infer<typeof trialBalanceView>;

const spend = { calls: z.int(), chargedUsd: z.string(), planUsd: z.string(), walletUsd: z.string() };

/** Maximum keys, members and models in a statement: those with the largest charges. */
export const STATEMENT_LINES_MAX = 200;
const omitted = z.object({ entries: z.int(), ...spend });

/** Groupings of statement lines. */
export const statementBy = z.enum(['key', 'member', 'model']);
/** Monthly usage of one key, member or model. */
export const statementLineView = z.object({ id: z.string(), ...spend });

/**
 * Statement of one account and calendar month (UTC), by the time of the calls. It adds up to the
 * ledger.
 */
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
  /** Number and sums of the omitted entries. With them, each list adds up to `usage`. */
  omitted: z.object({ keys: omitted, members: omitted, models: omitted }),
});
export type StatementView = z.infer<typeof statementView>;
