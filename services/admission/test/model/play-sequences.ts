import { testSeed } from '@gateway/testkit/seed';
import fc from 'fast-check';
import { Disagreement } from './compare.js';
import type { FrozenRedis } from './frozen-limit-store.js';
import { Play, SCENES } from './play.js';
import { STARTS } from './scene.js';
import { Stage } from './stage.js';
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
  const limitMs = Number(env['GATEWAY_VERIFY_MODEL_MINUTES'] ?? Infinity) * 60_000;
  return { seed: testSeed(env), path: env['GATEWAY_VERIFY_MODEL_PATH'], limitMs };
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
  const replay = `TEST_SEED=${result.seed >>> 0} GATEWAY_VERIFY_MODEL_PATH=${result.counterexamplePath}`;
  return `replay with ${replay}\n${result.numShrinks} shrinks\n${String(result.errorInstance)}`;
}

let sequencesPlayed = 0;

/** Number of answers of each kind. A run without refusals would test nothing. */
export const answersSeen = new Map<string, number>();

/**
 * Plays one sequence in a bucket that no other sequence uses at the same time.
 * @throws Disagreement with the events until then
 */
async function perform(redis: FrozenRedis, bucket: number, { start, scene, steps }: Sequence): Promise<void> {
  sequencesPlayed += 1;
  const stage = new Stage(redis, bucket, sequencesPlayed, STARTS[start] ?? 0);
  const play = new Play(stage, (answer) => answersSeen.set(answer, (answersSeen.get(answer) ?? 0) + 1));
  try {
    await play.begin(scene);
    for (const [index, step] of steps.entries()) {
      const { now } = stage;
      if (step.kind !== 'pause') play.log.push(() => `${index} ${step.kind} at ${now}`);
      await play.step(step);
    }
    await play.end();
  } catch (error) {
    const told = play.log.map((say) => say()).join('\n');
    throw new Disagreement(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n\n${told}`, {
      cause: error,
    });
  } finally {
    await stage.stop();
  }
}
