import { Disagreement } from './compare.js';
import type { FrozenRedis } from './frozen-limit-store.js';
import { Play } from './play.js';
import { STARTS } from './scene.js';
import { Stage } from './stage.js';
import type { Sequence } from './steps.js';

let sequencesPlayed = 0;

/** Number of answers of each kind. A run without refusals would test nothing. */
export const answersSeen = new Map<string, number>();

/**
 * Plays one sequence in a bucket that no other sequence uses at the same time.
 * @throws Disagreement with the events until then
 */
export async function perform(redis: FrozenRedis, bucket: number, { start, scene, steps }: Sequence): Promise<void> {
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
