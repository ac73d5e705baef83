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
  return `# A lost and restored database, under load

\`npm run prove:restore -- --streams ${streams} --calls ${calls}\`: ${streams} streams of three to five seconds are always open, in addition to plain requests.
Steps under this load: \`npm run backup\`; after ${whole(calls)} more requests, a stop of billing, accounts and catalog; a kill of PostgreSQL and
the deletion of its files; \`npm run restore\` on the empty server; a start of the three services. Edges, admission and NATS keep running.

${renderTable(
  ['Measure', 'value'],
  [
    ['backup under load, ms', whole(backupMs)],
    ['restore command, ms', whole(restoreMs)],
    ['from the loss until the three services were ready, ms', whole(outageMs)],
    ['requests that had ended at the backup', whole(endedAt.backup)],
    ['requests that ended between backup and loss', whole(endedAt.loss - endedAt.backup)],
    ['requests that ended without a database', whole(since.length)],
    ['of them complete', whole(since.filter(({ ending }) => ending === 'whole').length)],
    ['messages settled again from the stream', whole(settledAgain)],
    ['requests in total', whole(evidence.calls.length)],
    ['of them refused, cut or without a response', whole(unanswered.length)],
    ['records settled', whole(settled)],
    ['differences found by checker and audit', whole(wrong)],
  ],
)}

Recovered: the whole backup, and every later request once, from the stream. Not recovered: manual changes after the backup. A wallet
entry, a key and an account were created in that time. The restored system had none of them, and the entry, which was repeated
twice with its reference, counted once.
`;
}

function whole(count: number): string {
  return Math.round(count).toLocaleString('en');
}
