import { Random } from '../time/random.js';
import type { Fault } from './scenario.js';

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
