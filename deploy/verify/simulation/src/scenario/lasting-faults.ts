import type { Random } from '../time/random.js';
import type { Fault } from './scenario.js';

/** Share of the runs with a fault that outlasts leases, or with two limit stores. */
const LASTING_SHARE = 0.15;
const SILENCES_MS = [12_000, 40_000];
const SUPERSEDED_MS = [3_000, 15_000, 40_000];

/**
 * Returns faults that last longer than the leases of a run, in addition to other faults. Only few
 * runs have them, because they take most of the time.
 */
export function lastingFaults(random: Random, lengthMs: number): Fault[] {
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
