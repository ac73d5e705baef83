import { SOURCE_HEALTH_EVERY_MS, type ReceivedOf, type edgeHealth } from '@gateway/contracts/messages';
import type { SourceReport } from './rules.js';

/** Validity of a report: six intervals of an edge. */
export const REPORT_COUNTS_MS = 30_000;
/** Maximum number of reports (edges times sources). Above it, new ones are ignored. */
export const REPORTS_MAX = 50_000;

export interface SourceReports {
  /** Stores a message's reports. An edge may send its sources in several messages. */
  receive(message: Pick<ReceivedOf<typeof edgeHealth>, 'edge' | 'sources'>, nowMs: number): void;
  /** Returns all valid reports, unordered. */
  all(nowMs: number): SourceReport[];
}

/**
 * Creates the store of the last reports of edges about sources. Each replica of this service has
 * its own store.
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
        // IDs contain no spaces.
        const key = `${edge} ${health.source}`;
        if (reports.has(key) || reports.size < REPORTS_MAX) reports.set(key, { edge, health, reportedAtMs: nowMs });
      }
    },
    all(nowMs) {
      return [...reports.values()].filter((report) => counts(report, nowMs));
    },
  };
}
