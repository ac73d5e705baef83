/** Returns ledger epoch number `n` of a test: a UUIDv7, later than those with smaller numbers. */
export const testEpoch = (n: number): string => `00000000-${n.toString(16).padStart(4, '0')}-7000-8000-000000000000`;

/** A small generator of numbers (mulberry32): the same seed gives the same numbers. */
export class SeededRandom {
  #state: number;

  /** @param seed any integer; each value in 32 bits is another sequence of 2^32 draws */
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns a number in [0, 1). Bound to its generator, so that it can be passed as a function. */
  readonly next = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };

  /** An integer from 0 up to, not including, `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  /** True in that share of all cases. */
  chance(share: number): boolean {
    return this.next() < share;
  }

  /** @param list not empty */
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
}
