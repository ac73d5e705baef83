import { SOURCE_HEALTH_EVERY_MS } from '@gateway/contracts/messages';
import type { ReceivedOf, edgeHealth } from '@gateway/contracts/messages';
import type { SourceReport } from '../domain/source-health.js';

/** What an edge said counts for so long: six of its intervals. */
export const REPORT_COUNTS_MS = 30_000;
/** Reports that are kept: edges times sources. Those of newcomers are left out beyond. */
export const REPORTS_MAX = 50_000;

export interface SourceReports {
  /** An edge may spread its sources over several messages. */
  heard(message: Pick<ReceivedOf<typeof edgeHealth>, 'edge' | 'sources'>, nowMs: number): void;
  /** Those that count, in no order. */
  all(nowMs: number): SourceReport[];
}

/** What the edges last said of the sources that they have tried, as each replica of this service hears it for itself. */
export function makeSourceReports(): SourceReports {
  const reports = new Map<string, SourceReport>();
  let sweptAtMs = 0;

  const counts = (report: SourceReport, nowMs: number): boolean => nowMs - report.reportedAtMs < REPORT_COUNTS_MS;

  const sweep = (nowMs: number): void => {
    if (Math.abs(nowMs - sweptAtMs) < SOURCE_HEALTH_EVERY_MS) return;
    sweptAtMs = nowMs;
    for (const [key, report] of reports) if (!counts(report, nowMs)) reports.delete(key);
  };

  return {
    heard({ edge, sources }, nowMs) {
      sweep(nowMs);
      for (const facts of sources) {
        // Neither id holds a space.
        const key = `${edge} ${facts.source}`;
        if (reports.has(key) || reports.size < REPORTS_MAX) reports.set(key, { edge, facts, reportedAtMs: nowMs });
      }
    },
    all(nowMs) {
      return [...reports.values()].filter((report) => counts(report, nowMs));
    },
  };
}
