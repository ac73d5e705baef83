import { join } from 'node:path';
import { temporaryDirectory } from '@gateway/testkit';
import { checkEvidence } from '../evidence/check-evidence.js';
import { thousands } from '../runner/render-report.js';
import { runnable } from '../runner/run-scenario.js';
import { checkEntered, loseDatabase } from './lose-database.js';
import { isServed, RollingRun } from './rolling-run.js';
import { runProgram } from './run-program.js';

export const restore = runnable({
  name: 'restore',
  title: 'A lost and restored database, under load',
  about:
    'streams of three to five seconds are always open, in addition to plain requests. Steps under this load: `npm run backup`; after more requests, a stop of billing, accounts and catalog; a kill of PostgreSQL and the deletion of its files; `npm run restore` on the empty server; a start of the three services. Edges, admission and NATS keep running. Recovered: the whole backup, and every later request once, from the stream. Not recovered: manual changes after the backup.',
  options: { streams: { or: 60, min: 10, max: 2_000 }, calls: { or: 2_000, min: 10, max: 1_000_000 } },
  topology: {},
  start: (_topology, { streams }) => RollingRun.begin('verify-restore', streams),
  load: (run) => run.load(),
  fault: async (run, { options: { calls }, log }) => {
    const directory = temporaryDirectory('verify-restore-backup');
    try {
      await run.ended(calls);
      const restored = await loseDatabase(run, join(directory.path, 'made'), calls);
      log(`restored; ${run.seen.length} calls have ended`);
      return restored;
    } finally {
      directory.remove();
    }
  },
  judge: async (run, { endedAt, settledAgain, entered, fault }) => {
    const evidence = await run.evidence([fault]);
    const { violations, counterExample } = checkEvidence(evidence);
    const audit = await runProgram('audit', [], run.system);
    const since = evidence.calls.slice(endedAt.loss, endedAt.back);
    const figures = {
      'from the loss until the three services were ready, ms': fault.until - fault.from,
      'requests that had ended at the backup': endedAt.backup,
      'requests that ended between backup and loss': endedAt.loss - endedAt.backup,
      'requests that ended without a database': since.length,
      'of them complete': since.filter(({ ending }) => ending === 'whole').length,
      'messages settled again from the stream': settledAgain,
      'requests in total': evidence.calls.length,
      'of them refused, cut or without a response': evidence.calls.filter((call) => !isServed(call)).length,
      'records settled': evidence.records.filter(({ outcome }) => outcome === 'settled').length,
    };
    const all = [
      ...violations,
      ...(await checkEntered(run.system, entered)),
      ...(audit.code === 0 ? [] : [audit.output]),
    ];
    return { violations: all, counterExample, figures };
  },
  report: (rounds) =>
    rounds.map(({ figures }) => ({
      head: ['Measure', 'value'],
      rows: Object.entries(figures).map(([name, value]) => [name, thousands(value)]),
    })),
});
