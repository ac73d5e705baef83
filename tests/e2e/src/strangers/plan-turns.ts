import type { SeededRandom } from '@gateway/testkit/random';
import type { AttackKind } from './kinds.js';

/** Twelve rounds of all kinds: two of them in each stretch of time in which memory is looked at. */
const ROUNDS = 12;

/** The order of the attacks, another one in each round, and how long each of them is. */
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
