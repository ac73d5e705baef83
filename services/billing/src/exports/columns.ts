import type { LedgerEntryLine, UsageRecordLine } from '@gateway/contracts/operator';
import type { Column } from './csv.js';

/** The order of columns is part of the format: new ones come last. */
export const USAGE_RECORD_COLUMNS: readonly Column<UsageRecordLine>[] = [
  text('requestId', (line) => line.requestId),
  text('accountId', (line) => line.accountId),
  text('keyId', (line) => line.keyId),
  text('memberId', (line) => line.memberId),
  text('modelId', (line) => line.modelId),
  text('sourceId', (line) => line.sourceId),
  text('endpoint', (line) => line.endpoint),
  plain('streamed', (line) => line.streamed),
  plain('outcome', (line) => line.outcome),
  plain('evidence', (line) => line.evidence),
  plain('inputTokens', (line) => line.tokens?.input ?? null),
  plain('cachedInputTokens', (line) => line.tokens?.cachedInput ?? null),
  plain('cacheWriteTokens', (line) => line.tokens?.cacheWrite ?? null),
  plain('outputTokens', (line) => line.tokens?.output ?? null),
  text('priceVersion', (line) => line.priceVersion),
  plain('chargedUsd', (line) => line.chargedUsd),
  plain('planUsd', (line) => line.planUsd),
  plain('walletUsd', (line) => line.walletUsd),
  plain('costUsd', (line) => line.costUsd),
  text('attempts', (line) => JSON.stringify(line.attempts)),
  plain('startedAt', (line) => line.startedAt),
  plain('endedAt', (line) => line.endedAt),
  plain('recordedAt', (line) => line.recordedAt),
];

export const LEDGER_ENTRY_COLUMNS: readonly Column<LedgerEntryLine>[] = [
  text('entryId', (line) => line.entryId),
  text('transactionId', (line) => line.transactionId),
  plain('kind', (line) => line.kind),
  text('accountId', (line) => line.accountId),
  text('requestId', (line) => line.requestId),
  text('corrects', (line) => line.corrects),
  text('ledgerAccount', (line) => line.ledgerAccount),
  plain('amountUsd', (line) => line.amountUsd),
  plain('at', (line) => line.at),
  text('reference', (line) => line.reference),
  text('reason', (line) => line.reason),
  text('relatesTo', (line) => line.relatesTo),
  text('actor', (line) => line.actor),
];

function text<T>(name: string, value: Column<T>['value']): Column<T> {
  return { name, kind: 'text', value };
}

function plain<T>(name: string, value: Column<T>['value']): Column<T> {
  return { name, kind: 'plain', value };
}
