import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { SeededRandom } from '@gateway/testkit/random';
import { SEED_MAX, testSeed } from '@gateway/testkit/seed';
import { startOwnSystem } from '../../test/own-system.js';
import type { OwnSystem } from '../../test/own-system.js';
import { beginVerification, breakOffBy, optionsFrom } from './begin-verification.js';
import { killAdmissions } from './kill-admissions.js';
import { LIMIT_CASES } from './limit-cases.js';
import type { LimitCase } from './limit-cases.js';
import { DURATIONS, LimitVerification, REPLICAS } from './limit-verification.js';
import type { LimitFigures } from './limit-verification.js';
import { renderLimits } from './render-limits.js';

const CALLS = 10_000;
/** The limit has room for one in ten calls. */
const ONE_FITS_IN = 10;
const EXIT_WRONG_ARGUMENTS = 2;
/** Relative to `dist/src/prove`. */
const RESULT_FILE = fileURLToPath(new URL('../../../../../.results/limits.md', import.meta.url));

const given = optionsFrom(
  {
    calls: { or: CALLS, min: 100, max: 100_000 },
    seed: { or: testSeed(), min: 0, max: SEED_MAX },
  },
  ['only'],
);
const limits = limitsCalled(given?.only);
if (given === null || limits === null) process.exitCode = EXIT_WRONG_ARGUMENTS;
else process.exitCode = (await prove({ ...given, limits })) ? 0 : 1;

interface Verification {
  readonly calls: number;
  readonly seed: number;
  readonly limits: readonly LimitCase[];
}

/**
 * Returns the limit with this name, or all limits if it is undefined. Prints an error and returns
 * null if the name is unknown.
 */
function limitsCalled(name: string | undefined): readonly LimitCase[] | null {
  if (name === undefined) return LIMIT_CASES;
  const limit = LIMIT_CASES.find((one) => one.name === name);
  if (limit !== undefined) return [limit];
  process.stderr.write(`--only must be one of: ${LIMIT_CASES.map((one) => one.name).join(', ')}\n`);
  return null;
}

/**
 * Tests the limits on a new system. Returns true if each held. If all limits were tested, the
 * report is written in both cases.
 */
async function prove(verification: Verification): Promise<boolean> {
  const { calls, seed, limits } = verification;
  const log = beginVerification();
  log(`${calls} calls per limit, seed ${seed}`);
  const system = await startOwnSystem('prove-limits', DURATIONS, REPLICAS);
  breakOffBy(() => system.stop());
  try {
    const figures = await pressAll(system, verification, log);
    const report = renderLimits(figures, calls, seed);
    process.stdout.write(`\n${report}`);
    if (limits === LIMIT_CASES) {
      writeFileSync(RESULT_FILE, report);
      log(`wrote ${RESULT_FILE}`);
    }
    const differences = figures.flatMap((one) => one.differences);
    for (const difference of differences) log(difference);
    return differences.length === 0;
  } finally {
    await system.stop();
  }
}

async function pressAll(
  system: OwnSystem,
  { calls, seed, limits }: Verification,
  log: (line: string) => void,
): Promise<LimitFigures[]> {
  const next = new SeededRandom(seed).next;
  const verification = await LimitVerification.begin(system);
  try {
    const figures: LimitFigures[] = [];
    for (const limit of limits) {
      const one = await verification.press(limit, calls, Math.floor(calls / ONE_FITS_IN), killAdmissions(system, next));
      figures.push(one);
      const { fit, admitted, overshoot, kills, faults, expired, ms, differences } = one;
      log(
        `${limit.name}: ${admitted} admitted, ${fit} fit, overshoot ${overshoot}, ${kills} kills, ${faults} responses with 500, ${expired} expired, ` +
          `${(ms / 1000).toFixed(1)} s, ${differences.length} differences`,
      );
    }
    return figures;
  } finally {
    await verification.end();
  }
}
