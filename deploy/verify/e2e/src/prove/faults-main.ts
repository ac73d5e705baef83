import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SEED_MAX, testSeed } from '@gateway/testkit/seed';
import { FAULTS_MIX } from '../faults/call-plan.js';
import { FaultRun } from '../faults/fault-run.js';
import { runFaults } from '../faults/run-faults.js';
import { beginVerification, breakOffBy, optionsFrom } from './begin-verification.js';
import { renderFaults } from './render-faults.js';

const CALLS = 100_000;
const FAULTS = 100;
const EXIT_WRONG_ARGUMENTS = 2;
/** Seen from `dist/src/prove`. */
const RESULT_FILE = fileURLToPath(new URL('../../../prove/faults.md', import.meta.url));

const given = optionsFrom({
  calls: { or: CALLS, min: 100, max: 10_000_000 },
  faults: { or: FAULTS, min: 1, max: 100_000 },
  seed: { or: testSeed(), min: 0, max: SEED_MAX },
});
if (given === null) process.exitCode = EXIT_WRONG_ARGUMENTS;
else process.exitCode = (await prove(given)) ? 0 : 1;

/** Runs the calls under the faults on a system of its own; true when the checker found nothing. */
async function prove({ calls, faults, seed }: { calls: number; faults: number; seed: number }): Promise<boolean> {
  const log = beginVerification();
  log(`${calls} calls, ${faults} faults, seed ${seed}`);
  const run = await FaultRun.begin('prove-faults', calls);
  breakOffBy(() => run.end());
  try {
    const figures = await runFaults(run, { calls, faults, seed, mix: FAULTS_MIX, log });
    const report = renderFaults(figures);
    process.stdout.write(`\n${report}`);
    const { violations, counterExample } = figures.check;
    for (const violation of violations) log(violation);
    if (counterExample !== null) process.stdout.write(`\nThe smallest counter-example: ${counterExample}\n`);
    mkdirSync(dirname(RESULT_FILE), { recursive: true });
    if (violations.length === 0) writeFileSync(RESULT_FILE, report);
    return violations.length === 0;
  } finally {
    await run.end();
  }
}
