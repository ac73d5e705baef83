import { z } from 'zod';
import { ATTEMPT_OUTCOMES } from '../messages/usage.js';
import { label, objectId, time, usd } from './scalars.js';

export const walletView = z.object({ balanceUsd: z.string().nullable(), heldUsd: z.string() });

/** Negative amounts take. `reference` is unique: the same one again changes nothing. */
export const walletEntryCreate = z.object({
  amountUsd: usd.refine((text) => /[1-9]/.test(text), 'an amount other than zero'),
  kind: z.enum(['credit', 'refund', 'chargeback', 'adjustment']),
  reason: label,
  reference: z.string().min(1).max(200),
  relatesTo: objectId.nullish(),
});
export type WalletEntryCreate = z.output<typeof walletEntryCreate>;

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
  tokens: z.object({ input: z.int(), cachedInput: z.int(), cacheWrite: z.int(), output: z.int() }).nullable(),
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
    }),
  ),
  startedAt: time,
  endedAt: time,
});
export type UsageRecordView = z.infer<typeof usageRecordView>;

/** Signed amounts that sum to zero. */
export const ledgerTransactionView = z.object({
  id: objectId,
  kind: z.string(),
  requestId: z.string().nullable(),
  at: time,
  entries: z.array(z.object({ ledgerAccount: z.string(), amountUsd: z.string() })),
});
export type LedgerTransactionView = z.infer<typeof ledgerTransactionView>;
