import fc from 'fast-check';

/** Kinds of steps with their weights. The first one has no effect, so shrinking ends there. */
export const STEP_WEIGHTS = {
  pause: 1,
  admit: 31,
  open: 3,
  repeat: 3,
  end: 18,
  releaseAgain: 4,
  releaseBlind: 2,
  settle: 13,
  deliver: 5,
  heartbeat: 5,
  sweep: 5,
  credit: 3,
  terms: 4,
  key: 3,
  account: 2,
  pass: 6,
  boundary: 5,
  lose: 2,
  takeBack: 1,
  usage: 2,
  killEdge: 1,
} as const;
export type StepKind = keyof typeof STEP_WEIGHTS;

/** One step: its kind, and numbers for its choices. The lower a number, the smaller the effect. */
export interface Step {
  readonly kind: StepKind;
  readonly choices: readonly number[];
}

const KINDS = Object.entries(STEP_WEIGHTS).flatMap(([kind, weight]) => Array<StepKind>(weight).fill(kind as StepKind));
const CHOICE_MAX = 0xfffff;
const CHOICES = 4;

const step: fc.Arbitrary<Step> = fc
  .tuple(fc.nat(KINDS.length - 1), fc.tuple(...Array.from({ length: CHOICES }, () => fc.noBias(fc.nat(CHOICE_MAX)))))
  .map(([kind, choices]) => ({ kind: KINDS[kind] ?? 'pause', choices }));

/** A sequence: its start time, its initial state and its steps. */
export interface Sequence {
  readonly start: number;
  readonly scene: number;
  readonly steps: readonly Step[];
}

export function sequences(starts: number, scenes: number, length: number): fc.Arbitrary<Sequence> {
  return fc.record({
    start: fc.nat(starts - 1),
    scene: fc.noBias(fc.nat(scenes - 1)),
    steps: fc.array(step, { minLength: length, maxLength: length }),
  });
}

/** Draws choices from a step's numbers, digit by digit. */
export class Choices {
  readonly #left: number[];

  constructor(numbers: readonly number[]) {
    this.#left = [...numbers];
  }

  /** Returns 0 to `options` - 1. `source` selects the number to draw from. */
  of(options: number, source: number): number {
    const left = this.#left[source] ?? 0;
    this.#left[source] = Math.floor(left / options);
    return left % options;
  }

  /** True once in `once` times. */
  rarely(once: number, source: number): boolean {
    return this.of(once, source) === once - 1;
  }

  pick<T>(items: readonly T[], source: number): T | undefined {
    return items.length === 0 ? undefined : items[this.of(items.length, source)];
  }
}
