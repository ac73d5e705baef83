import { renderTable } from '@gateway/testkit';
import type { CallCounts } from '../counts/count-calls.js';
import { SCENARIOS } from '../scenarios.js';
import { countRows } from './count-rows.js';
import { formatNumber } from './statistics.js';
import type { Report } from './report.js';

const UNKNOWN = '–';

/** Renders a section for each gateway with counts. */
export function renderCounts({ counts, peers }: Pick<Report, 'counts' | 'peers'>): string[] {
  const titleOf = ({ scenario }: CallCounts): string =>
    SCENARIOS.find(({ id }) => id === scenario)?.title ?? 'without calls, a second';
  return peers.flatMap(({ id, title }) => {
    const columns = counts.filter(({ peer }) => peer === id);
    if (columns.length === 0) return [];
    const rows = countRows(columns).map(({ what, values }) => [
      what,
      ...values.map((value) => (Number.isFinite(value) ? formatNumber(value) : UNKNOWN)),
    ]);
    return [`## Counts per call: ${title}`, renderTable(['', ...columns.map(titleOf)], rows)];
  });
}

export const READING_COUNTS = [
  '- Counts are read before the first call and after the last one is settled, in separate runs. They include the idle work of the gateway.',
  '- Wake-ups are voluntary context switches of all threads of a process. Bytes kept are the growth of the tables in whole pages.',
];
