import type { ReportedDifference, SourceView, UsageRecordView } from '@gateway/contracts/operator';
import { formatUsd, parseUsd, rate, recordedCost, type TokenCounts } from '@gateway/metering';
import { toFigures } from './charged.js';
import { isOnMessages } from './compare.js';

/** Fewest requests of a source for a comparison to be meaningful. */
export const REPORTED_REQUESTS_MIN = 20;
/** Smallest difference of the sums, in percent of the computed one, that is not rounding. */
export const REPORTED_PERCENT_MIN = 2n;

/**
 * Compares the costs that providers reported with the costs in force for the same usage. Only the
 * completed attempt has usage; others are skipped.
 */
export function reportedDifferences(
  sources: readonly SourceView[],
  records: readonly UsageRecordView[],
): ReportedDifference[] {
  return sources.flatMap((source) => {
    if (source.costs === null) return [];
    const figures = toFigures({ prices: source.costs, onMessages: isOnMessages(source) });
    let [requests, computed, reported] = [0, 0n, 0n];
    for (const record of records) {
      const cost = reportedBy(record, source.id);
      if (cost === null || record.tokens === null) continue;
      const served = { class: record.class, units: record.units };
      const own = rate(usageOf(record), figures, served);
      // A report out of bounds is a fault of the provider, and is not recorded.
      if (recordedCost(own, cost) !== cost) continue;
      requests += 1;
      reported += cost;
      computed += own;
    }
    const difference = reported > computed ? reported - computed : computed - reported;
    if (requests < REPORTED_REQUESTS_MIN || difference * 100n < computed * REPORTED_PERCENT_MIN) return [];
    if (difference === 0n) return [];
    const sums = { computedUsd: formatUsd(computed), reportedUsd: formatUsd(reported) };
    return [{ sourceId: source.id, modelId: source.modelId, requests, ...sums }];
  });
}

/** Returns null if the source did not serve the request or reported no cost. */
function reportedBy({ sourceId, attempts }: UsageRecordView, source: string): bigint | null {
  if (sourceId !== source) return null;
  const reported = attempts.findLast((attempt) => attempt.sourceId === source)?.reportedCostUsd;
  return reported === undefined ? null : parseUsd(reported);
}

function usageOf({ tokens, kinds, samplings }: UsageRecordView) {
  const counts = (of: Omit<TokenCounts, 'kinds'>, own: UsageRecordView['kinds']): TokenCounts => ({
    ...of,
    kinds: own ?? undefined,
  });
  if (tokens === null) throw new Error('a record without tokens has no cost');
  return { ...counts(tokens, kinds), samplings: samplings?.map(({ kinds: own, ...each }) => counts(each, own)) };
}
