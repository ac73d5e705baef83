import { renderTable } from '@gateway/testkit';
import type { Evidence } from '../faults/evidence.js';
import type { Restored } from '../rolling/lose-database.js';

export interface RestoreFigures {
  readonly streams: number;
  readonly calls: number;
  readonly restored: Restored;
  readonly evidence: Evidence;
  /** Number of differences that the checker and the audit found. */
  readonly wrong: number;
}

/** Renders the results for a lost and restored database as Markdown, without a date. */
export function renderRestore({ streams, calls, restored, evidence, wrong }: RestoreFigures): string {
  const { endedAt, backupMs, restoreMs, outageMs, settledAgain } = restored;
  const since = evidence.calls.slice(endedAt.loss, endedAt.back);
  const settled = evidence.records.filter(({ outcome }) => outcome === 'settled').length;
  const unanswered = evidence.calls.filter(({ status, ending }) => status !== 200 || ending !== 'whole');
  return `# A lost database and its backup, under load

\`npm run prove:restore -- --streams ${streams} --calls ${calls}\`: ${streams} streams of three to five seconds are open all the time, and plain calls beside them. In
their midst \`npm run backup\`; ${whole(calls)} calls later billing, accounts and catalog are stopped, PostgreSQL is killed and its files are
deleted; \`npm run restore\` on the empty server; the three are started again. Edges, admission and NATS run all the time.

${renderTable(
  ['What', 'figure'],
  [
    ['backup under load, ms', whole(backupMs)],
    ['restore command, ms', whole(restoreMs)],
    ['from the loss until the three were ready, ms', whole(outageMs)],
    ['calls that had ended at the backup', whole(endedAt.backup)],
    ['calls that ended between backup and loss', whole(endedAt.loss - endedAt.backup)],
    ['calls that ended while there was no database', whole(since.length)],
    ['of them whole', whole(since.filter(({ ending }) => ending === 'whole').length)],
    ['messages settled again from the stream', whole(settledAgain)],
    ['calls in all', whole(evidence.calls.length)],
    ['of them refused, cut, or not answered', whole(unanswered.length)],
    ['records settled', whole(settled)],
    ['differences found by checker and audit', whole(wrong)],
  ],
)}

Recovered: everything of the backup, and every call since, from the stream, once. Not recovered: what people entered after the
backup. A wallet entry, a key and an account were made then: the restored system knew none of them, and the entry,
made again twice under its reference, counted once.
`;
}

function whole(count: number): string {
  return Math.round(count).toLocaleString('en');
}
