// `npm run prove:outage`: billing is down for a while under load, and then catches up.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { SEED_MAX, testSeed } from '@gateway/testkit/seed';
import { FaultRun } from '../faults/fault-run.js';
import { judgeExactness, judgeOutage } from '../outage/judge-outage.js';
import { measureOutage } from '../outage/measure-outage.js';
import { callsOf, runOutage } from '../outage/run-outage.js';
import { beginVerification, breakOffBy, optionsFrom } from './begin-verification.js';
import { renderOutage } from './render-outage.js';

const MINUTES = 60;
/** Leaves three quarters of two processors idle. */
const CALLS_PER_SECOND = 40;
const MINUTE_MS = 60_000;
const EXIT_WRONG_ARGUMENTS = 2;
/** Relative to `dist/src/prove`. */
const RESULT_FILE = fileURLToPath(new URL('../../../../../.results/outage.md', import.meta.url));

const given = optionsFrom({
  minutes: { or: MINUTES, min: 1, max: 1_000 },
  rate: { or: CALLS_PER_SECOND, min: 1, max: 10_000 },
  seed: { or: testSeed(), min: 0, max: SEED_MAX },
});
if (given === null) process.exitCode = EXIT_WRONG_ARGUMENTS;
else process.exitCode = (await prove(given)) ? 0 : 1;

/** Returns true if no call was affected and the checker found nothing. */
async function prove({ minutes, rate, seed }: { minutes: number; rate: number; seed: number }): Promise<boolean> {
  const log = beginVerification();
  log(`${minutes} minutes without billing, ${rate} calls per second, seed ${seed}`);
  const options = { outageMs: minutes * MINUTE_MS, callsPerSecond: rate, seed, log };
  const run = await FaultRun.begin('prove-outage', callsOf(options), { isLinked: false });
  breakOffBy(() => run.end());
  try {
    const figures = await runOutage(run, options);
    const measures = measureOutage(figures);
    const { violations, counterExample } = figures.check;
    const noticed = [...judgeOutage(measures, figures.samples), ...judgeExactness(figures.evidence)];
    if (figures.leftOut > 0)
      noticed.push(`${figures.leftOut} calls were skipped: the machine is too slow for the rate`);
    const report = renderOutage(figures, measures);
    process.stdout.write(`\n${report}`);
    for (const sentence of [...noticed, ...violations]) log(sentence);
    if (counterExample !== null) process.stdout.write(`\nThe smallest counterexample: ${counterExample}\n`);
    if (noticed.length + violations.length > 0) return false;
    writeFileSync(RESULT_FILE, report);
    return true;
  } finally {
    await run.end();
  }
}
