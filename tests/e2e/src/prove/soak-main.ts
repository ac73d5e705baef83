import { writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '@gateway/testkit';
import { SeededRandom } from '@gateway/testkit/random';
import { SEED_MAX, testSeed } from '@gateway/testkit/seed';
import { SOAK_MIX } from '../faults/call-plan.js';
import { checkEvidence } from '../faults/check-evidence.js';
import { FaultRun } from '../faults/fault-run.js';
import { readResources } from '../faults/read-resources.js';
import type { Resources } from '../faults/read-resources.js';
import { beginVerification, breakOffBy, optionsFrom } from './begin-verification.js';
import { judgeSoak } from './judge-soak.js';
import { renderSoak } from './render-soak.js';

const MINUTES = 60;
const ROUNDS = 6;
const EXIT_WRONG_ARGUMENTS = 2;
/** Pause after which the clients' idle connections are closed. Those of the services stay open. */
const REST_MS = 8_000;
const MINUTE_MS = 60_000;
/** To size the limits: about as many calls as one machine makes. */
const CALLS_A_MINUTE = 3_000;
/** Relative to `dist/src/prove`. */
const RESULT_FILE = fileURLToPath(new URL('../../../../../.results/soak.md', import.meta.url));
const PRELOAD = fileURLToPath(new URL('../../../test/resource-counts.mjs', import.meta.url));

const given = optionsFrom({
  minutes: { or: MINUTES, min: 1, max: 10_000 },
  seed: { or: testSeed(), min: 0, max: SEED_MAX },
});
if (given === null) process.exitCode = EXIT_WRONG_ARGUMENTS;
else process.exitCode = (await prove(given)) ? 0 : 1;

/** Alternates load and pauses. Returns true if nothing grew and the checker found nothing. */
async function prove({ minutes, seed }: { minutes: number; seed: number }): Promise<boolean> {
  const log = beginVerification();
  log(`${minutes} minutes, seed ${seed}`);
  const directory = temporaryDirectory('soak-resources');
  const env = { E2E_RESOURCES_DIRECTORY: directory.path, NODE_OPTIONS: `--import=${PRELOAD}` };
  const run = await FaultRun.begin('prove-soak', minutes * CALLS_A_MINUTE, { env });
  breakOffBy(() => run.end());
  try {
    const rests: Resources[][] = [];
    const load = run.load(SOAK_MIX, new SeededRandom(seed).next);
    for (let round = 1; round <= ROUNDS; round += 1) {
      await delay((minutes * MINUTE_MS) / ROUNDS);
      await load.rest();
      await delay(REST_MS);
      rests.push(await readResources(run.system.local, directory.path));
      log(`round ${round}: ${load.seen.length} calls; ${JSON.stringify(rests.at(-1))}`);
      if (round < ROUNDS) load.goOn();
    }
    await load.stop();
    const evidence = await run.evidence(load);
    const { violations, counterExample } = checkEvidence(evidence);
    const grown = judgeSoak(rests);
    const report = renderSoak({ minutes, seed, rests, evidence, violations: violations.length, grown });
    process.stdout.write(`\n${report}`);
    for (const sentence of [...grown, ...violations]) log(sentence);
    if (counterExample !== null) process.stdout.write(`\nThe smallest counterexample: ${counterExample}\n`);
    writeFileSync(RESULT_FILE, report);
    return violations.length === 0 && grown.length === 0;
  } finally {
    await run.end();
    directory.remove();
  }
}
