import type { StallWitness } from '../../test/stall-witness.js';

export type GoodKind = 'calls' | 'pages' | 'operators' | 'new keys';
export const GOOD_KINDS: readonly GoodKind[] = ['calls', 'pages', 'operators', 'new keys'];

/** What became of the good requests of one kind. */
export interface GoodCount {
  readonly asked: number;
  /** Those that were not answered as they should, by what came instead. */
  readonly wrong: Readonly<Record<string, number>>;
  readonly slowestMs: number;
}

export type GoodCounts = Readonly<Record<GoodKind, GoodCount>>;

interface Counting {
  asked: number;
  wrong: Record<string, number>;
  slowestMs: number;
}

/** Good requests of one stretch of time, counted where they began. */
export class Tally {
  readonly #witness: StallWitness;
  readonly #counts: Record<GoodKind, Counting> = {
    calls: nothing(),
    pages: nothing(),
    operators: nothing(),
    'new keys': nothing(),
  };

  /** @param witness tells which requests nobody could decide in time */
  constructor(witness: StallWitness) {
    this.#witness = witness;
  }

  /** One is asked; `counted` is told how it ended: `good`, or status and code. */
  begin(kind: GoodKind): { counted(outcome: string): void } {
    const count = this.#counts[kind];
    const begunAt = Date.now();
    const beganMs = performance.now();
    count.asked += 1;
    return {
      counted: (outcome) => {
        count.slowestMs = Math.max(count.slowestMs, performance.now() - beganMs);
        const call = { status: parseInt(outcome), text: outcome, begunAt, endedAt: Date.now() };
        if (outcome !== 'good' && !this.#witness.excuses(call)) count.wrong[outcome] = (count.wrong[outcome] ?? 0) + 1;
      },
    };
  }

  get counts(): GoodCounts {
    return this.#counts;
  }
}

function nothing(): Counting {
  return { asked: 0, wrong: {}, slowestMs: 0 };
}

/** How many were not answered as they should. */
export function wrongOf({ wrong }: GoodCount): number {
  return Object.values(wrong).reduce((sum, one) => sum + one, 0);
}

/** Several stretches as one. */
export function sumOf(all: readonly GoodCounts[]): GoodCounts {
  const sum = (kind: GoodKind): GoodCount => {
    const whole = nothing();
    for (const { [kind]: count } of all) {
      whole.asked += count.asked;
      whole.slowestMs = Math.max(whole.slowestMs, count.slowestMs);
      for (const [outcome, n] of Object.entries(count.wrong)) whole.wrong[outcome] = (whole.wrong[outcome] ?? 0) + n;
    }
    return whole;
  };
  return { calls: sum('calls'), pages: sum('pages'), operators: sum('operators'), 'new keys': sum('new keys') };
}
