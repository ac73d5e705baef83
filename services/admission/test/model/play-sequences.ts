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
/** Concurrent sequences, each in its own bucket. */
const LANES = 64;
/** Distance between the buckets, so that the sequences spread over the servers of a cluster. */
const BUCKETS_APART = 4;

export interface Replay {
  readonly seed: number;
  /**
   * Start position within the run of the seed, as a failure prints it. Undefined: the whole run.
   */
  readonly path: string | undefined;
  /** No further sequence begins after this time. */
  readonly limitMs: number;
}

/** Reads the values that a failure printed from the environment, or draws a new seed. */
export function replayFrom(env: NodeJS.ProcessEnv): Replay {
  const limitMs = Number(env['GATEWAY_MODEL_MINUTES'] ?? Infinity) * 60_000;
  return { seed: testSeed(env), path: env['GATEWAY_MODEL_PATH'], limitMs };
}

/**
 * Plays random sequences to the scripts and the model. Returns their number: `total`, or fewer if
 * the time ran out.
 * @throws Error with the shortest failing sequence and how to replay it
 */
export async function playSequences(redis: FrozenRedis, total: number, replay: Replay): Promise<number> {
  const { seed, path, limitMs } = replay;
  // After one lane has found a failure, the others stop, so that the search for the shortest
  // sequence gets the processor.
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
  // The seed of the lane. fast-check reports it as a signed number.
  const replay = `TEST_SEED=${result.seed >>> 0} GATEWAY_MODEL_PATH=${result.counterexamplePath}`;
  return `replay with ${replay}\n${result.numShrinks} shrinks\n${String(result.errorInstance)}`;
}
