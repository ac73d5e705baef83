import { randomInt } from 'node:crypto';

/** The largest seed: seeds are unsigned 32-bit integers. */
export const SEED_MAX = 2 ** 32 - 1;

/**
 * The largest drawn seed. fast-check prints larger seeds as negative numbers, which TEST_SEED does
 * not accept.
 */
const DRAWN_SEED_MAX = 2 ** 31 - 1;

const drawn = randomInt(DRAWN_SEED_MAX + 1);

/**
 * Returns the seed of all random numbers in a test: `TEST_SEED`, or a seed that each test file and
 * process draws once. Test failures print the seed, mostly in the test title. To repeat a run, set
 * `TEST_SEED` to that seed.
 * @throws RangeError if TEST_SEED is not an unsigned 32-bit integer
 */
export function testSeed(env: NodeJS.ProcessEnv = process.env): number {
  const given = env['TEST_SEED'];
  if (given === undefined) return drawn;
  const seed = Number(given);
  if (/^\d+$/.test(given) && seed <= SEED_MAX) return seed;
  throw new RangeError(`TEST_SEED must be an integer from 0 to ${SEED_MAX}, not ${JSON.stringify(given)}`);
}
