import type { LedgerTransactionView, UsageRecordView } from '@gateway/contracts/operator';
import { formatUsd } from '@gateway/metering';
import type { UsageRecord } from '../ledger/rules.js';
import type { PostedTransaction } from '../ports.js';

/** A ledger transaction as operators see it: signed amounts that sum to zero. */
export function toTransactionView({
  id,
  kind,
  requestId,
  postedAt,
  entries,
  reference,
  reason,
}: PostedTransaction): LedgerTransactionView {
  return {
    id,
    kind,
    requestId,
    at: postedAt.toISOString(),
    ...(reference !== undefined && { reference, reason }),
    entries: entries.map(({ ledgerAccount, amountNanoUsd }) => ({
      ledgerAccount,
      amountUsd: formatUsd(amountNanoUsd),
    })),
  };
}

/** A usage record as operators see it. Both kinds of cache write are one figure there. */
export function toRecordView(record: UsageRecord): UsageRecordView {
  const { usage } = record;
  return {
    requestId: record.id,
    accountId: record.account,
    keyId: record.key,
    memberId: record.member,
    modelId: record.model,
    sourceId: record.source,
    endpoint: record.endpoint,
    streamed: record.streamed,
    outcome: record.outcome,
    evidence: record.evidence,
    tokens:
      usage === null
        ? null
        : {
            input: usage.input,
            cachedInput: usage.cachedInput,
            cacheWrite: usage.cacheWrite + usage.cacheWrite1h,
            output: usage.output,
          },
    priceVersion: record.priceVersion,
    chargedUsd: formatUsd(record.chargedNanoUsd),
    planUsd: formatUsd(record.planNanoUsd),
    walletUsd: formatUsd(record.walletNanoUsd),
    costUsd: record.costNanoUsd === null ? null : formatUsd(record.costNanoUsd),
    attempts: record.attempts.map(({ source, outcome, status, possiblyPaid }) => ({
      sourceId: source,
      outcome,
      status,
      possiblyPaid,
    })),
    startedAt: new Date(record.startedAt).toISOString(),
    endedAt: new Date(record.endedAt).toISOString(),
  };
}
