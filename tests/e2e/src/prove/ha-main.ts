// `npm run prove:ha`: every fault of servers with standbys, repeated under load. Each run adds its
// results to those of earlier runs, so that a long verification can be split.
import { SeededRandom } from '@gateway/testkit/random';
import { SEED_MAX, testSeed } from '@gateway/testkit/seed';
import { FAULTS_MIX } from '../faults/call-plan.js';
import { checkEvidence } from '../faults/check-evidence.js';
import { FaultRun } from '../faults/fault-run.js';
import { STANDBY_FAULTS, type StandbyFault } from '../standbys/standby-faults.js';
import { sufferStandbyFault } from '../standbys/suffer-standby-faults.js';
import { beginVerification, breakOffBy, optionsFrom } from './begin-verification.js';
import { isFrom, readFigures, writeFigures } from './figures-file.js';
import { addRound, NO_FIGURES, renderHa, type HaFigures } from './render-ha.js';

const TIMES = 20;
const EXIT_WRONG_ARGUMENTS = 2;
const CALLS_BETWEEN = 150;
const PROOF = 'ha';

const given = optionsFrom(
  { times: { or: TIMES, min: 1, max: 1_000 }, seed: { or: testSeed(), min: 0, max: SEED_MAX } },
  ['nats', 'kinds', 'from'],
);
const kinds = STANDBY_FAULTS.filter(({ name }) => name.includes(given?.kinds ?? ''));
if (given === null || kinds.length === 0 || !isFrom(given.from)) {
  process.stderr.write('--kinds must be a part of a fault name, and --from new or last (the default)\n');
  process.exitCode = EXIT_WRONG_ARGUMENTS;
} else process.exitCode = (await prove(given.times, given.seed, given)) ? 0 : 1;

/**
 * Runs rounds of all faults until each has occurred `times` times, including earlier runs. Returns
 * true if no round has a violation.
 */
async function prove(times: number, seed: number, how: { nats?: string; from?: string }): Promise<boolean> {
  const log = beginVerification();
  if (how.nats !== undefined) process.env['GATEWAY_NATS_BINARY'] = how.nats;
  let figures = (how.from === 'new' ? null : readFigures<HaFigures>(PROOF)) ?? NO_FIGURES;
  for (;;) {
    const due = kinds.filter(({ name }) => (figures.costs[name]?.length ?? 0) < times);
    if (due.length === 0) break;
    const round = figures.rounds + 1;
    log(`round ${round}: ${due.length} faults, seed ${seed + round}`);
    const { costs, calls, violations, versions } = await sufferOnce(due, seed + round, log);
    for (const violation of violations) log(violation);
    figures = addRound(figures, { costs, calls, violations: violations.length, versions });
    writeFigures(PROOF, figures, renderHa(figures));
  }
  process.stdout.write(`\n${renderHa(figures)}`);
  return figures.violations === 0;
}

/** Causes each fault once on a new system and checks the evidence at the end. */
async function sufferOnce(faults: readonly StandbyFault[], seed: number, log: (line: string) => void) {
  const run = await FaultRun.begin('prove-ha', CALLS_BETWEEN * (faults.length + 1), {
    ha: true,
    isDivisible: true,
  });
  breakOffBy(() => run.end());
  const load = run.load(FAULTS_MIX, new SeededRandom(seed).next);
  try {
    const costs = [];
    for (const fault of faults) {
      const cost = await sufferStandbyFault(run, load, fault, CALLS_BETWEEN);
      costs.push(cost);
      log(
        `${fault.name}: ${cost.refused} calls refused within ${cost.refusedMs} ms, all served after ${cost.servedMs} ms`,
      );
    }
    await load.stop();
    log(`${load.seen.length} calls have ended; waiting for running calls`);
    const { violations, counterExample } = checkEvidence(await run.evidence(load));
    if (counterExample !== null) process.stdout.write(`\nThe smallest counterexample: ${counterExample}\n`);
    const { servers } = run.system.local;
    const versions = Object.fromEntries(Object.values(servers).map(({ name, version }) => [name, version]));
    return { costs, calls: load.seen.length, violations, versions };
  } finally {
    await load.stop();
    await run.end();
  }
}
