import { join } from 'node:path';
import { temporaryDirectory } from '@gateway/testkit';
import { checkEvidence } from '../evidence/check-evidence.js';
import { countTable } from '../runner/render-report.js';
import { defineScenario, withSystem } from '../runner/run-scenario.js';
import { loseDatabase } from './lose-database.js';
import { beginRollingRun, isServed, SteadyLoad } from './rolling-run.js';
import { runProgram } from './run-program.js';

export const restore = defineScenario({
  name: 'restore',
  title: 'A lost and restored database, under load',
  about:
    'streams of three to five seconds are always open, in addition to plain requests. Steps under this load: `npm run backup`; after more requests, a stop of billing, accounts and catalog; a kill of PostgreSQL and the deletion of its files; `npm run restore` on the empty server; a start of the three services. Edges, admission and NATS keep running. Recovered: the whole backup, and every later request once, from the stream. Not recovered: manual changes after the backup.',
  options: { streams: { or: 60, min: 10, max: 2_000 }, calls: { or: 2_000, min: 10, max: 1_000_000 } },
  play: ({ streams, calls }, log) =>
    withSystem(beginRollingRun('verify-restore'), async (run) => {
      await SteadyLoad.start(run, streams);
      await run.ended(calls);
      const directory = temporaryDirectory('verify-restore-backup');
      const lost = loseDatabase(run, join(directory.path, 'made'), calls).finally(() => directory.remove());
      const { endedAt, tookMs, settledAgain, checkEntered } = await lost;
      log(`restored; ${run.seen.length} calls have ended`);
      const evidence = await run.evidence();
      const audit = await runProgram('audit', [], run.system);
      const wrong = [...(await checkEntered()), ...(audit.code === 0 ? [] : [audit.output])];
      const since = evidence.calls.slice(endedAt.loss, endedAt.back);
      const figures = {
        'from the loss until the three services were ready, ms': tookMs,
        'requests that had ended at the backup': endedAt.backup,
        'requests that ended between backup and loss': endedAt.loss - endedAt.backup,
        'requests that ended without a database': since.length,
        'of them complete': since.filter(isServed).length,
        'messages settled again from the stream': settledAgain,
      };
      return { ...checkEvidence(evidence, wrong), tables: [countTable('Measure', figures)] };
    }),
});
