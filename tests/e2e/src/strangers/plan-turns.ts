import type { SeededRandom } from '@gateway/testkit/random';
import type { AttackKind } from './kinds.js';

/**
 * Twelve rounds of all kinds, so that each part of the run with a memory measurement contains two.
 */
const ROUNDS = 12;

/** Plans the attacks in a random order for each round, and their duration. */
export function planTurns(
  kinds: readonly AttackKind[],
  minutes: number,
  random: SeededRandom,
): { readonly turns: readonly AttackKind[]; readonly secondsEach: number } {
  const turns = Array.from({ length: ROUNDS }, () => {
    const left = [...kinds];
    return kinds.flatMap(() => left.splice(random.below(left.length), 1));
  }).flat();
  return { turns, secondsEach: (minutes * 60) / turns.length };
}
