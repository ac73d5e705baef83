import { expect, test } from '@jest/globals';
import { findCrossedThresholds, computeNextReach, THRESHOLDS } from './rules.js';

const rows: [what: string, before: bigint, after: bigint, limit: bigint, crossed: number[]][] = [
  ['nothing is reached', 0n, 49n, 100n, []],
  ['exactly half', 49n, 50n, 100n, [50]],
  ['just below three quarters', 50n, 74n, 100n, [50]],
  ['three quarters', 74n, 75n, 100n, [50, 75]],
  ['nine tenths', 0n, 90n, 100n, [50, 75, 90]],
  ['just below the limit', 0n, 99n, 100n, [50, 75, 90]],
  ['the limit', 99n, 100n, 100n, [50, 75, 90, 100]],
  ['all thresholds in one charge', 0n, 100n, 100n, [50, 75, 90, 100]],
  ['above the limit', 100n, 250n, 100n, [50, 75, 90, 100]],
  ['fractional thresholds are rounded up: 50 % of 3', 0n, 1n, 3n, []],
  ['50 % of 3 are 1.5', 1n, 2n, 3n, [50]],
  ['75 % of 3 are 2.25', 2n, 3n, 3n, [50, 75, 90, 100]],
  ['a limit of one call', 0n, 1n, 1n, [50, 75, 90, 100]],
  ['a limit of zero is reached by any use', 0n, 1n, 0n, [50, 75, 90, 100]],
  ['an unchanged balance', 80n, 80n, 100n, []],
  ['a reduced balance', 100n, 80n, 100n, []],
  ['a limit lowered below the use: the next charge', 60n, 61n, 50n, [50, 75, 90, 100]],
  ['amounts above 2^53', 0n, 4_500_000_000_000_000n, 8_999_999_999_999_999n, [50]],
  ['one below half of such an amount', 0n, 4_499_999_999_999_999n, 8_999_999_999_999_999n, []],
];
test.each(rows)('alertsCrossed(): %s: %s to %s of %s', (_what, before, after, limit, crossed) => {
  expect(findCrossedThresholds(before, after, limit)).toEqual(crossed);
});

test('nextReach() returns the smallest use that crosses one more threshold', () => {
  const crossed = (used: bigint, limit: bigint): number => findCrossedThresholds(-1n, used, limit).length;
  const wrong: [limit: bigint, used: bigint][] = [];
  for (let limit = 0n; limit <= 250n; limit += 1n) {
    for (let used = 0n; used <= 260n; used += 1n) {
      const next = computeNextReach(limit, used);
      const now = crossed(used, limit);
      const isRight =
        next === null ? now === THRESHOLDS.length : crossed(next, limit) > now && crossed(next - 1n, limit) === now;
      if (!isRight) wrong.push([limit, used]);
    }
    expect(findCrossedThresholds(-1n, computeNextReach(limit, null) ?? -1n, limit)).toContain(50);
  }
  expect(wrong).toEqual([]);
});
