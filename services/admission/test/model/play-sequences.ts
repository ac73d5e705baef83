import { testSeed } from '@gateway/testkit/seed';
import fc from 'fast-check';
import type { FrozenRedis } from './frozen-limit-store.js';
import { perform } from './perform.js';
import { SCENES } from './play.js';
import { STARTS } from './scene.js';
import { sequences } from './steps.js';
import type { Sequence } from './steps.js';

/** Steps of one sequence. */
export const STEPS = 50;
/** Sequences that are played at once, each in a bucket of its own. */
const LANES = 64;
/** Buckets lie this far apart, so that the lanes spread over the servers of a cluster. */
const BUCKETS_APART = 4;

export interface Replay {
  readonly seed: number;
  /** Where in the run of the seed to begin: what a failure prints. Undefined: the whole run. */
  readonly path: string | undefined;
  /** The run begins no more sequences after this time. */
  readonly limitMs: number;
}

/** From the environment what a failure printed, else a new seed. */
export function replayFrom(env: NodeJS.ProcessEnv): Replay {
  const limitMs = Number(env['GATEWAY_MODEL_MINUTES'] ?? Infinity) * 60_000;
  return { seed: testSeed(env), path: env['GATEWAY_MODEL_PATH'], limitMs };
}

/**
 * Plays random sequences to script and model. Returns how many: `total`, or those for which there
 * was time.
 * @throws Error with the shortest sequence found on which they disagree, and how to replay it
 */
export async function playSequences(redis: FrozenRedis, total: number, replay: Replay): Promise<number> {
  const { seed, path, limitMs } = replay;
  // Once one lane has found something, the others leave it the machine to look for the shortest
  // sequence.
  let finder: number | null = null;
  let played = 0;
  const endMs = performance.now() + limitMs;
  const lanes = path === undefined ? Math.min(LANES, total) : 1;
  await Promise.all(
    Array.from({ length: lanes }, async (_unused, lane) => {
      const bucket = lane * BUCKETS_APART;
      const property = fc.asyncProperty(sequences(STARTS.length, SCENES, STEPS), async (sequence) => {
        const isLate = finder === null && performance.now() > endMs;
        if (isLate || (finder !== null && finder !== lane)) return;
        played += 1;
        await perform(redis, bucket, sequence).catch((error: unknown) => {
          finder ??= lane;
          throw error;
        });
      });
      const numRuns = Math.ceil(total / lanes);
      const result = await fc.check(property, { seed: seed + lane, numRuns, ...(path !== undefined && { path }) });
      if (result.failed) throw new Error(failureText(result));
    }),
  );
  return played;
}

function failureText(result: fc.RunDetails<[Sequence]>): string {
  // The seed of the lane, which fast-check tells as a signed number.
  const replay = `TEST_SEED=${result.seed >>> 0} GATEWAY_MODEL_PATH=${result.counterexamplePath}`;
  return `replay with ${replay}\n${result.numShrinks} shrinks\n${String(result.errorInstance)}`;
}
