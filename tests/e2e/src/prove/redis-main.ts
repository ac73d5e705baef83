import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { SeededRandom } from '@gateway/testkit/random';
import { SEED_MAX, testSeed } from '@gateway/testkit/seed';
import { SHORT_DURATIONS, startOwnSystem } from '../../test/own-system.js';
import type { OwnSystem } from '../../test/own-system.js';
import { beginVerification, breakOffBy, optionsFrom } from './begin-verification.js';
import { LimitStoreLoss } from './limit-store-loss.js';
import type { LossFigures } from './limit-store-loss.js';
import { LOSSES } from './lose-limit-store.js';
import type { Loss } from './lose-limit-store.js';
import { renderLosses } from './render-losses.js';

const LOSSES_OF_A_KIND = 20;
const EXIT_WRONG_ARGUMENTS = 2;
/** Relative to `dist/src/prove`. */
const RESULT_FILE = fileURLToPath(new URL('../../../../../.results/redis.md', import.meta.url));

const given = optionsFrom({
  losses: { or: LOSSES_OF_A_KIND, min: 1, max: 1_000 },
  seed: { or: testSeed(), min: 0, max: SEED_MAX },
});
if (given === null) process.exitCode = EXIT_WRONG_ARGUMENTS;
else process.exitCode = (await prove(given.losses, given.seed)) ? 0 : 1;

/**
 * Loses the limit store of a new system `losses` times in each way. Returns true if no loss caused
 * a difference.
 */
async function prove(losses: number, seed: number): Promise<boolean> {
  const log = beginVerification();
  log(`${losses} losses per kind, seed ${seed}`);
  const system = await startOwnSystem('prove-redis', SHORT_DURATIONS);
  breakOffBy(() => system.stop());
  try {
    const figures = await loseAgainAndAgain(system, losses, seed, log);
    const report = renderLosses(figures, seed);
    process.stdout.write(`\n${report}`);
    const differences = figures.flatMap((loss) => loss.differences);
    for (const difference of differences) log(difference);
    if (differences.length > 0) return false;
    writeFileSync(RESULT_FILE, report);
    log(`wrote ${RESULT_FILE}`);
    return true;
  } finally {
    await system.stop();
  }
}

async function loseAgainAndAgain(
  system: OwnSystem,
  losses: number,
  seed: number,
  log: (line: string) => void,
): Promise<LossFigures[]> {
  const next = new SeededRandom(seed).next;
  const verification = await LimitStoreLoss.begin(system);
  try {
    const figures: LossFigures[] = [];
    for (const loss of shuffled(losses, next)) {
      const one = await verification.lose(loss, next);
      figures.push(one);
      const { faults, faultsMs, servedMs, admitted, settled, differences } = one;
      log(
        `${String(figures.length).padStart(3)} ${loss}: ${faults} responses with 500 in ${faultsMs} ms, all served after ${servedMs} ms; ` +
          `${admitted} admitted, ${settled} settled, ${differences.length} differences`,
      );
    }
    return figures;
  } finally {
    await verification.end();
  }
}

/** Returns each kind `losses` times, shuffled by the seed. */
function shuffled(losses: number, next: () => number): Loss[] {
  const order = LOSSES.flatMap((loss) => Array.from({ length: losses }, () => ({ loss, at: next() })));
  return order.sort((one, other) => one.at - other.at).map(({ loss }) => loss);
}
