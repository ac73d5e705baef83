import type { StallWitness } from '../../test/stall-witness.js';

export type GoodKind = 'calls' | 'pages' | 'operators' | 'new keys';
export const GOOD_KINDS: readonly GoodKind[] = ['calls', 'pages', 'operators', 'new keys'];

/** Results of the valid requests of one kind. */
export interface GoodCount {
  readonly asked: number;
  /** Failed requests by their failure. */
  readonly wrong: Readonly<Record<string, number>>;
  readonly slowestMs: number;
}

export type GoodCounts = Readonly<Record<GoodKind, GoodCount>>;

interface Counting {
  asked: number;
  wrong: Record<string, number>;
  slowestMs: number;
}

/** Counts the valid requests that began in one time span. */
export class Tally {
  readonly #witness: StallWitness;
  readonly #counts: Record<GoodKind, Counting> = {
    calls: nothing(),
    pages: nothing(),
    operators: nothing(),
    'new keys': nothing(),
  };

  /** @param witness excuses requests that nothing could serve in time on a stalled machine */
  constructor(witness: StallWitness) {
    this.#witness = witness;
  }

  /** Counts a request. `counted` gets its result: `good`, or status and code. */
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

/** Returns the number of failed requests. */
export function wrongOf({ wrong }: GoodCount): number {
  return Object.values(wrong).reduce((sum, one) => sum + one, 0);
}

/** Adds several counts. */
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
