import { Random } from '../time/random.js';
import { type CallAct, type Fault, STEPS, type Scenario } from './scenario.js';

/** A limit that is never reached, in nano-USD and in requests. */
export const UNREACHED_LIMIT = 1_000_000_000_000;

/** Defaults of scenarios without clock skew and shared subjects. */
export const PLAIN_SCENARIO = {
  startMs: Date.parse('2026-11-18T12:00:00.000Z'),
  sharedSubjects: false,
  skewsMs: {},
} satisfies Partial<Scenario>;

/** A streamed call with the first account and key at the first edge, whose client stays. */
export const PLAIN_CALL = {
  kind: 'call',
  account: 0,
  key: 0,
  edge: 0,
  model: 0,
  streamed: true,
  outputTokensMax: 50,
  leavesAfterMs: null,
} satisfies Partial<CallAct>;

/** Share of the runs with a fault that outlasts leases, or with two limit stores. */
const LASTING_SHARE = 0.15;
const SILENCES_MS = [12_000, 40_000];
const SUPERSEDED_MS = [3_000, 15_000, 40_000];

/**
 * Returns faults that last longer than the leases of a run, in addition to other faults. Only few
 * runs have them, because they take most of the time.
 */
export function makeLastingFaults(random: Random, lengthMs: number): Fault[] {
  if (!random.chance(LASTING_SHARE)) return [];
  const at = random.below(lengthMs);
  if (random.chance(0.5)) {
    const how = random.pick(['as_it_is', 'late'] as const);
    return [{ kind: 'failover', how, at, ms: random.pick(SUPERSEDED_MS) }];
  }
  const ms = random.pick(SILENCES_MS);
  if (random.chance(0.3)) return [{ kind: 'away', at, ms }];
  return [{ kind: 'cut', host: random.pick(['redis', 'bus', 'postgres']), at, ms }];
}

const COMMITS_MAX = 6;

/** Has its own random source, so that other faults of a seed do not depend on it. */
export function makePromotions(seed: number, lengthMs: number): Fault[] {
  const random = new Random(seed ^ 0x70b0);
  const count = random.chance(0.75) ? 0 : random.between(1, 2);
  return Array.from({ length: count }, () => ({
    kind: 'promotion' as const,
    at: random.below(lengthMs),
    commits: random.below(COMMITS_MAX + 1),
  }));
}

const N_MAX = 12;
/** Delay of the kill. Messages that the process sends in that time arrive. */
const AFTER_MS = [0, 5, 60];
const DOWN_MS = [80, 700, 3_000];

/** Has its own random source, so that other faults of a seed do not depend on it. */
export function makeStepKills(seed: number): Fault[] {
  const random = new Random(seed ^ 0x57e9);
  const count = random.chance(0.85) ? 0 : random.between(1, 3);
  return Array.from({ length: count }, () => ({
    kind: 'step-killed' as const,
    step: random.pick(STEPS),
    n: random.between(1, N_MAX),
    afterMs: random.pick(AFTER_MS),
    ms: random.pick(DOWN_MS),
  }));
}
