import { Random } from '../time/random.js';
import { STEPS, type Fault } from './scenario.js';

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
