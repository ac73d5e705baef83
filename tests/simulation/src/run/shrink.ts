import type { LuaRedis } from '../limit-store/lua-redis.js';
import type { Act, Fault, Scenario } from '../scenario/scenario.js';
import { play } from './play.js';

/** The most runs to play for one failing seed. */
const PLAYS_MAX = 250;

/** Leaves out faults, then acts, while the scenario still breaks the same rule. */
export async function shrink(scenario: Scenario, rule: string, redis: LuaRedis): Promise<Scenario> {
  let plays = 0;
  const breaks = async (smaller: Scenario): Promise<boolean> => {
    plays += 1;
    const { violations } = await play(smaller, redis);
    return violations.some((violation) => violation.rule === rule);
  };
  const hasBudget = (): boolean => plays < PLAYS_MAX;
  const faults = await reduce(scenario.faults, (fewer) => breaks({ ...scenario, faults: fewer }), hasBudget);
  const calm = { ...scenario, faults };
  const acts = await reduce(scenario.acts, (fewer) => breaks({ ...calm, acts: fewer }), hasBudget);
  return { ...calm, acts };
}

/** Leaves out ever smaller parts while the remaining list still fails. */
async function reduce<T extends Fault | Act>(
  items: readonly T[],
  fails: (fewer: readonly T[]) => Promise<boolean>,
  hasBudget: () => boolean,
): Promise<readonly T[]> {
  let left = items;
  for (let size = Math.ceil(left.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < left.length && hasBudget();) {
      const fewer = [...left.slice(0, from), ...left.slice(from + size)];
      if (await fails(fewer)) left = fewer;
      else from += size;
    }
  }
  return left;
}
