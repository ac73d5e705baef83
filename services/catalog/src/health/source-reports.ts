import { SOURCE_HEALTH_EVERY_MS, type ReceivedOf, type edgeHealth } from '@gateway/contracts/messages';
import type { SourceReport } from './rules.js';

/** A report of an edge counts for so long: six of its intervals. */
export const REPORT_COUNTS_MS = 30_000;
/** Reports that are kept: edges times sources. Those of newcomers are left out beyond. */
export const REPORTS_MAX = 50_000;

export interface SourceReports {
  /** An edge may spread its sources over several messages. */
  receive(message: Pick<ReceivedOf<typeof edgeHealth>, 'edge' | 'sources'>, nowMs: number): void;
  /** Those that count, in no order. */
  all(nowMs: number): SourceReport[];
}

/**
 * What the edges last reported of the sources that they have tried, as each replica of this service
 * receives it for itself.
 */
export function createSourceReports(): SourceReports {
  const reports = new Map<string, SourceReport>();
  let sweptAtMs = 0;

  const counts = (report: SourceReport, nowMs: number): boolean => nowMs - report.reportedAtMs < REPORT_COUNTS_MS;

  const sweep = (nowMs: number): void => {
    if (Math.abs(nowMs - sweptAtMs) < SOURCE_HEALTH_EVERY_MS) return;
    sweptAtMs = nowMs;
    for (const [key, report] of reports) if (!counts(report, nowMs)) reports.delete(key);
  };

  return {
    receive({ edge, sources }, nowMs) {
      sweep(nowMs);
      for (const health of sources) {
        // Neither id holds a space.
        const key = `${edge} ${health.source}`;
        if (reports.has(key) || reports.size < REPORTS_MAX) reports.set(key, { edge, health, reportedAtMs: nowMs });
      }
    },
    all(nowMs) {
      return [...reports.values()].filter((report) => counts(report, nowMs));
    },
  };
}
