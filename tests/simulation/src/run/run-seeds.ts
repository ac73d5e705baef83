import { NO_COUNTS } from '../check/truth.js';
import type { LuaRedis } from '../limit-store/lua-redis.js';
import { makeScenario } from '../scenario/make-scenario.js';
import type { Scenario } from '../scenario/scenario.js';
import { play, type Outcome } from './play.js';
import { shrink } from './shrink.js';

/** Sums over the runs of many seeds. */
export type Totals = Outcome['counts'] & {
  seeds: number;
  calls: number;
  messages: number;
  virtualMs: number;
};

export interface Failure {
  readonly seed: number;
  readonly text: string;
}

export const NO_TOTALS: Totals = {
  seeds: 0,
  calls: 0,
  messages: 0,
  virtualMs: 0,
  ...NO_COUNTS,
  limitStoreLosses: 0,
};

/**
 * Plays seeds one after the other. Stops after the first seed that breaks a rule and describes the
 * smallest run that still breaks it.
 */
export async function runSeeds(
  redis: LuaRedis,
  seeds: Iterable<number>,
  make: (seed: number) => Scenario = makeScenario,
): Promise<{ readonly totals: Totals; readonly failure: Failure | null }> {
  let totals = NO_TOTALS;
  for (const seed of seeds) {
    const outcome = await play(make(seed), redis);
    totals = addTotals(totals, { ...outcome.counts, ...numbersOf(outcome), seeds: 1 });
    const [first] = outcome.violations;
    if (first !== undefined)
      return { totals, failure: { seed, text: await describeFailure(redis, make(seed), first.rule) } };
  }
  return { totals, failure: null };
}

export function addTotals(one: Totals, other: Totals): Totals {
  const names = Object.keys(one) as (keyof Totals)[];
  return Object.fromEntries(names.map((name) => [name, one[name] + other[name]])) as unknown as Totals;
}

async function describeFailure(redis: LuaRedis, scenario: Scenario, rule: string): Promise<string> {
  const smallest = await shrink(scenario, rule, redis);
  const { violations } = await play(smallest, redis);
  const broken = violations.map(({ at, rule: name, detail }) => `  at ${at} ms: ${name}: ${detail}`);
  const happened = [...smallest.acts, ...smallest.faults].map((event) => `  ${JSON.stringify(event)}`);
  return [
    `GATEWAY_SIM_SEED=${scenario.seed} breaks a rule:`,
    ...broken,
    'with only these acts and faults:',
    ...happened,
  ].join('\n');
}

function numbersOf({ calls, messages, virtualMs }: Outcome) {
  return { calls, messages, virtualMs };
}
