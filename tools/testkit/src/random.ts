/**
 * Returns ledger epoch number `n` for tests: a UUIDv7 that sorts after those with smaller numbers.
 */
export const testEpoch = (n: number): string => `00000000-${n.toString(16).padStart(4, '0')}-7000-8000-000000000000`;

/** A small random number generator (mulberry32). The same seed gives the same numbers. */
export class SeededRandom {
  #state: number;

  /** @param seed any integer; its low 32 bits select one of 2^32 sequences */
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns a number in [0, 1). It is bound to its generator, so you can pass it as a function. */
  readonly next = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };

  /** Returns an integer from 0 to `end` - 1. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  /** Returns true with the probability `share`. */
  chance(share: number): boolean {
    return this.next() < share;
  }

  /** @throws RangeError if the list is empty */
  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new RangeError('there is nothing to pick from');
    return list[this.below(list.length)] as T;
  }
}
