/** Pseudo-random numbers that a seed repeats: xorshift32, of period 2^32 - 1, above what ten million documents draw. */
export class Random {
  #state: number;

  /** @param seed any integer; each value in 32 bits is a sequence of its own */
  constructor(seed: number) {
    this.#state = seed >>> 0 || 1;
  }

  /** A whole number from 0 up to, not including, `bound`. */
  below(bound: number): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x >>> 0;
    return this.#state % bound;
  }

  /** True in so many of a hundred cases. */
  percent(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(values: readonly [T, ...T[]]): T {
    return values[this.below(values.length)] ?? values[0];
  }
}
