import {
  type AnswerBodyOf,
  type billingUsageRecord,
  type billingUsageRecords,
  DIRECT_COLUMNS,
  type DirectColumn,
  type ReceivedOf,
} from '@gateway/contracts/messages';
import { isRefusal, refuse, type UsageRecordView } from '@gateway/contracts/operator';
import { formatUsd, type TokenCounts } from '@gateway/metering';
import { toTransactionView } from '../ledger/handlers.js';
import { buildPage, readUuidCursor } from '../ledger/page.js';
import type { UsageRecord } from './rules.js';
import type { RecordStore } from './store.js';

/** Returns a usage record with its ledger transactions. */
export async function showUsageRecord(
  store: Pick<RecordStore, 'record'>,
  requestId: string,
): Promise<AnswerBodyOf<typeof billingUsageRecord>> {
  const found = await store.record(requestId);
  if (found === null) return refuse('not_found', 'no usage record has this id');
  return { record: toRecordView(found.record), transactions: found.transactions.map(toTransactionView) };
}

/** Returns usage records by the time of their admission, newest first. */
export async function showUsageRecords(
  store: Pick<RecordStore, 'records'>,
  body: ReceivedOf<typeof billingUsageRecords>,
): Promise<AnswerBodyOf<typeof billingUsageRecords>> {
  const { account, from, to, key, member, model, outcome, requestId, reportsCost = false, cursor, limit } = body;
  const place = readUuidCursor(cursor);
  if (isRefusal(place)) return place;
  const records = await store.records({
    account,
    from,
    to,
    before: place.after,
    limit: limit + 1,
    key: key ?? null,
    member: member ?? null,
    model: model ?? null,
    outcome: outcome ?? null,
    requestId: requestId ?? null,
    reportsCost,
  });
  const { items, nextCursor } = buildPage(records, limit, { nameOf: ({ id }) => id, viewOf: toRecordView });
  return { records: items, nextCursor };
}

/** Converts a usage record to the operators' view. */
export function toRecordView(record: UsageRecord): UsageRecordView {
  const { usage, served } = record;
  return {
    requestId: record.id,
    accountId: record.account,
    keyId: record.key,
    memberId: record.member,
    modelId: record.model,
    sourceId: record.source,
    ...toDirectView(record),
    outcome: record.outcome,
    evidence: record.evidence,
    tokens: usage === null ? null : tokensView(usage),
    priceVersion: record.priceVersion,
    chargedUsd: formatUsd(record.chargedNanoUsd),
    planUsd: formatUsd(record.planNanoUsd),
    walletUsd: formatUsd(record.walletNanoUsd),
    costUsd: record.costNanoUsd === null ? null : formatUsd(record.costNanoUsd),
    attempts: record.attempts.map(({ source, outcome, status, possiblyPaid, reportedCostNanoUsd: reported }) => ({
      sourceId: source,
      outcome,
      status,
      possiblyPaid,
      ...(reported === undefined ? {} : { reportedCostUsd: formatUsd(BigInt(reported)) }),
    })),
    startedAt: new Date(record.startedAt).toISOString(),
    endedAt: new Date(record.endedAt).toISOString(),
    class: served?.class ?? 'standard',
    units: served?.units ?? {},
    kinds: usage?.kinds ?? null,
    ...(usage?.samplings === undefined
      ? {}
      : { samplings: usage.samplings.map((each) => ({ ...tokensView(each), kinds: each.kinds ?? null })) }),
  };
}

/** The view omits an optional field instead of showing null. */
function toDirectView(record: UsageRecord): Pick<UsageRecordView, DirectColumn & keyof UsageRecordView> {
  const shown = VIEW_COLUMNS.filter(({ name, isOptionalInView }) => record[name] !== null || isOptionalInView !== true);
  return Object.fromEntries(shown.map(({ name }) => [name, record[name]])) as ReturnType<typeof toDirectView>;
}
const VIEW_COLUMNS = DIRECT_COLUMNS.filter(({ isOptionalInView }) => isOptionalInView !== undefined);

function tokensView({ input, cachedInput, cacheWrite, cacheWrite1h, output }: TokenCounts) {
  return { input, cachedInput, cacheWrite, cacheWrite1h, output };
}
