import { expect, test } from '@jest/globals';
import { recordedCost } from './recorded-cost.js';

test.each<[string, bigint | null, bigint | undefined, bigint | null]>([
  ['is the reported one', 2_000n, 1_500n, 1_500n],
  ['is the reported one up to 100 times the computed one', 2_000n, 200_000n, 200_000n],
  ['is the computed one above that', 2_000n, 200_001n, 2_000n],
  ['is the computed one where 0 is reported', 2_000n, 0n, 2_000n],
  ['is the computed one where a negative cost is reported', 2_000n, -5n, 2_000n],
  ['is the computed one where nothing is reported', 2_000n, undefined, 2_000n],
  ['stays 0 for a model that costs nothing', 0n, 5n, 0n],
  ['is unknown where nothing bounds the reported one', null, 5n, null],
])('recorded cost %s', (_name, computed, reported, expected) => {
  expect(recordedCost(computed, reported)).toBe(expected);
});
