import { randomInt } from 'node:crypto';

/** The largest seed: seeds are unsigned integers of 32 bits. */
export const SEED_MAX = 2 ** 32 - 1;

/**
 * Drawn seeds end here: fast-check prints larger ones as negative numbers, which nobody could give
 * back.
 */
const DRAWN_SEED_MAX = 2 ** 31 - 1;

const drawn = randomInt(DRAWN_SEED_MAX + 1);

/**
 * The seed of all random numbers of a test: `TEST_SEED`, or else one that is drawn for each test
 * file and each process. A test prints it in its failures, mostly in its name: with
 * `TEST_SEED=<it>` the same runs again.
 * @throws RangeError when TEST_SEED is no such number
 */
export function testSeed(env: NodeJS.ProcessEnv = process.env): number {
  const given = env['TEST_SEED'];
  if (given === undefined) return drawn;
  const seed = Number(given);
  if (/^\d+$/.test(given) && seed <= SEED_MAX) return seed;
  throw new RangeError(`TEST_SEED is an integer from 0 to ${SEED_MAX}, not ${JSON.stringify(given)}`);
}
