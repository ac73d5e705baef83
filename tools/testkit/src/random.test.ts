import { expect, test } from '@jest/globals';
import { SeededRandom } from './random.js';

test('SeededRandom returns the same numbers for a seed as in committed results', () => {
  const { next } = new SeededRandom(158_077_068);
  expect([next(), next(), next()]).toEqual([0.3817701612133533, 0.25186484144069254, 0.5692146699875593]);
});

test('SeededRandom uses 32 bits of a seed, and each seed has different numbers', () => {
  const draws = (seed: number) => Array.from({ length: 5 }, new SeededRandom(seed).next);
  expect(draws(-1)).toEqual(draws(2 ** 32 - 1));
  expect(draws(7)).not.toEqual(draws(8));
});

test('below(), chance() and pick() return values in the requested ranges', () => {
  const random = new SeededRandom(1);
  const draw = <T>(by: () => T) => Array.from({ length: 10_000 }, by);
  expect([...new Set(draw(() => random.below(3)))].sort()).toEqual([0, 1, 2]);
  expect([...new Set(draw(() => random.pick(['a', 'b'])))].sort()).toEqual(['a', 'b']);
  const hits = draw(() => random.chance(0.25)).filter((hit) => hit).length;
  expect([hits > 2_300, hits < 2_700]).toEqual([true, true]);
  expect(draw(() => random.chance(0))).not.toContain(true);
});
