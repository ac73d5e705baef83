import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '@gateway/testkit';
import { checkEvidence } from '../faults/check-evidence.js';
import { checkEntered, loseDatabase } from '../rolling/lose-database.js';
import { RollingRun } from '../rolling/rolling-run.js';
import { runProgram } from '../rolling/run-program.js';
import { beginVerification, breakOffBy, optionsFrom } from './begin-verification.js';
import { renderRestore } from './render-restore.js';

const STREAMS = 60;
const CALLS = 2_000;
const EXIT_WRONG_ARGUMENTS = 2;
/** Relative to `dist/src/prove`. */
const RESULT_FILE = fileURLToPath(new URL('../../../../../.results/restore.md', import.meta.url));

const given = optionsFrom({
  streams: { or: STREAMS, min: 10, max: 2_000 },
  calls: { or: CALLS, min: 10, max: 1_000_000 },
});
if (given === null) process.exitCode = EXIT_WRONG_ARGUMENTS;
else process.exitCode = (await prove(given)) ? 0 : 1;

/**
 * Loses the database under load once after a backup. Returns true if the restored ledger is exact.
 */
async function prove({ streams, calls }: { streams: number; calls: number }): Promise<boolean> {
  const log = beginVerification();
  log(`${streams} streams; ${calls} calls before the backup and as many after it`);
  const directory = temporaryDirectory('prove-restore-backup');
  const run = await RollingRun.begin('prove-restore', streams);
  breakOffBy(() => run.end());
  try {
    const load = await run.load();
    await run.ended(calls);
    const backup = join(directory.path, 'made');
    const restored = await loseDatabase(run, backup, calls);
    await load.stop();
    log(`restored after ${restored.outageMs.toFixed(0)} ms; ${run.seen.length} calls have ended`);
    const evidence = await run.evidence();
    const { violations, counterExample } = checkEvidence(evidence);
    const audit = await runProgram('audit', [], run.system);
    const wrong = [
      ...violations,
      ...(await checkEntered(run.system, restored.entered)),
      ...(audit.code === 0 ? [] : [audit.output]),
    ];
    const report = renderRestore({ streams, calls, restored, evidence, wrong: wrong.length });
    process.stdout.write(`\n${report}`);
    for (const sentence of wrong) log(sentence);
    if (counterExample !== null) process.stdout.write(`\nThe smallest counterexample: ${counterExample}\n`);
    if (wrong.length === 0) writeFileSync(RESULT_FILE, report);
    return wrong.length === 0;
  } finally {
    await run.end();
    directory.remove();
  }
}
