import { NO_COUNTS } from '../check/truth.js';
import type { LuaRedis } from '../limit-store/lua-redis.js';
import type { Act, Fault, Scenario } from '../scenario/scenario.js';
import { play, type Outcome } from './play.js';

/** The most runs to play to shrink one failing seed. */
const PLAYS_MAX = 250;

/** Sums over the runs of many seeds. */
export type Totals = Outcome['counts'] & {
  seeds: number;
  calls: number;
  virtualMs: number;
};

/** The first seed that breaks a rule, and the rule. */
interface Failure {
  readonly seed: number;
  readonly rule: string;
}

export interface SeedsResult {
  readonly totals: Totals;
  readonly failure: Failure | null;
}

const NO_TOTALS: Totals = { seeds: 0, calls: 0, virtualMs: 0, ...NO_COUNTS, limitStoreLosses: 0 };

/** Plays seeds one after the other, up to the first seed that breaks a rule. */
export async function runSeeds(
  redis: LuaRedis,
  seeds: Iterable<number>,
  make: (seed: number) => Scenario,
): Promise<SeedsResult> {
  const totals = { ...NO_TOTALS };
  for (const seed of seeds) {
    const { counts, calls, virtualMs, violations } = await play(make(seed), redis);
    const added: Totals = { seeds: 1, calls, virtualMs, ...counts };
    for (const name of Object.keys(totals) as (keyof Totals)[]) totals[name] += added[name];
    const [first] = violations;
    if (first !== undefined) return { totals, failure: { seed, rule: first.rule } };
  }
  return { totals, failure: null };
}

/** Returns the smallest run that still breaks the rule. */
export async function describeFailure(
  redis: LuaRedis,
  kind: string,
  make: (seed: number) => Scenario,
  { seed, rule }: Failure,
): Promise<string> {
  const smallest = await shrink(make(seed), rule, redis);
  const { violations } = await play(smallest, redis);
  return [
    `seed ${seed} (--kind ${kind}) breaks a rule:`,
    ...violations.map(({ at, rule: name, detail }) => `  at ${at} ms: ${name}: ${detail}`),
    'with only these acts and faults:',
    ...[...smallest.acts, ...smallest.faults].map((event) => `  ${JSON.stringify(event)}`),
  ].join('\n');
}

/** Leaves out ever smaller parts of the faults and acts while the run still breaks the rule. */
async function shrink(scenario: Scenario, rule: string, redis: LuaRedis): Promise<Scenario> {
  const { faults, acts } = scenario;
  let left: readonly (Fault | Act)[] = [...faults, ...acts];
  const runOf = (events: typeof left): Scenario => {
    const isIn = (event: Fault | Act): boolean => events.includes(event);
    return { ...scenario, faults: faults.filter(isIn), acts: acts.filter(isIn) };
  };
  let plays = 0;
  for (let size = Math.ceil(left.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < left.length && plays < PLAYS_MAX; plays += 1) {
      const fewer = left.filter((_event, at) => at < from || at >= from + size);
      const { violations } = await play(runOf(fewer), redis);
      if (violations.some((violation) => violation.rule === rule)) left = fewer;
      else from += size;
    }
  }
  return runOf(left);
}
