import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { SERVICES } from '@gateway/local';
import { checkEvidence } from '../faults/check-evidence.js';
import { RollingRun } from '../rolling/rolling-run.js';
import { beginVerification, breakOffBy, optionsFrom } from './begin-verification.js';
import { renderUpgrade } from './render-upgrade.js';

const STREAMS = 500;
const ROUNDS = 2;
/** A stream takes 12 to 20 seconds, so that one machine can start new ones continuously. */
const PIECE_MS = 1_000;
const EXIT_WRONG_ARGUMENTS = 2;
/** Relative to `dist/src/prove`. */
const RESULT_FILE = fileURLToPath(new URL('../../../../../.results/upgrade.md', import.meta.url));

const given = optionsFrom({
  streams: { or: STREAMS, min: 10, max: 2_000 },
  rounds: { or: ROUNDS, min: 1, max: 100 },
});
if (given === null) process.exitCode = EXIT_WRONG_ARGUMENTS;
else process.exitCode = (await prove(given)) ? 0 : 1;

/**
 * Replaces every process `rounds` times under a steady load. Returns true if no call was affected.
 */
async function prove({ streams, rounds }: { streams: number; rounds: number }): Promise<boolean> {
  const log = beginVerification();
  log(`${streams} streams, every process replaced ${rounds} times`);
  const run = await RollingRun.begin('prove-upgrade', streams, PIECE_MS);
  breakOffBy(() => run.end());
  try {
    const load = await run.load();
    const startedAt = Date.now();
    try {
      for (let round = 1; round <= rounds; round += 1) {
        for (const service of SERVICES.toReversed()) {
          for (const [index] of run.system.local.children(service).entries()) {
            const { open, carried, readyMs, endedMs } = await run.replace(service, index, load);
            const figures = `ready after ${readyMs.toFixed(0)} ms, the old process ended after ${endedMs.toFixed(0)} ms`;
            log(`${service} ${index + 1}: ${figures}; ${open} open, ${carried.length} of them on the old process`);
          }
        }
      }
    } finally {
      await load.stop();
    }
    const ms = Date.now() - startedAt;
    log(`${run.seen.length} calls have ended; waiting for running calls`);
    const evidence = await run.evidence();
    const { violations, counterExample } = checkEvidence(evidence);
    const noticed = evidence.calls.filter(({ status, ending }) => status !== 200 || ending !== 'whole').length;
    const report = renderUpgrade({ streams, rounds, ms, evidence, replaced: run.replaced, noticed, violations });
    process.stdout.write(`\n${report}`);
    for (const violation of violations) log(violation);
    if (counterExample !== null) process.stdout.write(`\nThe smallest counterexample: ${counterExample}\n`);
    const isProven = violations.length === 0 && noticed === 0;
    if (isProven) writeFileSync(RESULT_FILE, report);
    return isProven;
  } finally {
    await run.end();
  }
}
