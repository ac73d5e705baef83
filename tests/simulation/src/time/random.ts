import { SeededRandom } from '@gateway/testkit/random';

/** A seeded random number generator (splitmix32). A seed always gives the same numbers. */
export class Random extends SeededRandom {
  #state: number;

  constructor(seed: number) {
    super(seed);
    this.#state = seed | 0;
  }

  /** Returns a number in [0, 1). */
  override readonly next = (): number => {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    return mix(this.#state) / 0x1_0000_0000;
  };

  /** Returns an integer in [from, to]. */
  between(from: number, to: number): number {
    return from + this.below(to - from + 1);
  }

  /** Returns another generator that depends only on this one's seed. */
  fork(): Random {
    return new Random(mix(this.below(0x7fff_ffff) ^ 0x5bd1_e995));
  }
}

/** Returns a pseudo-random number in [0, 2^32) that depends only on both arguments. */
export function hash(seed: number, ordinal: number): number {
  return mix((seed ^ Math.imul(ordinal + 1, 0x9e37_79b1)) | 0);
}

function mix(value: number): number {
  let mixed = value ^ (value >>> 16);
  mixed = Math.imul(mixed, 0x21f0_aaad);
  mixed ^= mixed >>> 15;
  mixed = Math.imul(mixed, 0x735a_2d97);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}
