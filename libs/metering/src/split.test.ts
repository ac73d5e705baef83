import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { splitFunding } from './money.js';

test.each<[string, bigint, bigint, bigint | null, bigint, bigint]>([
  ['nothing to pay', 0n, 10n, 5n, 0n, 0n],
  ['the plan alone', 7n, 10n, 5n, 7n, 0n],
  ['the plan exactly', 10n, 10n, 5n, 10n, 0n],
  ['the plan, then the wallet', 12n, 10n, 5n, 10n, 2n],
  ['the plan, the wallet to its bound', 15n, 10n, 5n, 10n, 5n],
  ['then the plan again, above its limit', 20n, 10n, 5n, 15n, 5n],
  ['a plan with nothing left and no wallet hold', 20n, 0n, 0n, 20n, 0n],
  ['the wallet alone, without bound', 20n, 0n, null, 0n, 20n],
  ['a plan bound below 0 counts as 0', 20n, -3n, 30n, 0n, 20n],
  ['a wallet bound below 0 counts as 0', 20n, 5n, -4n, 20n, 0n],
])('%s', (_name, actual, planMax, walletMax, plan, wallet) => {
  expect(splitFunding(actual, planMax, walletMax)).toEqual({ plan, wallet });
});

test('splitFunding() refuses a charge below 0', () => {
  expect(() => splitFunding(-1n, 0n, null)).toThrow(RangeError);
});

test('both parts add up to the charge, and the wallet stays within its bound', () => {
  const amount = fc.oneof(fc.bigInt(0n, 20n), fc.bigInt(0n, 9_000_000_000_000_000n));
  fc.assert(
    fc.property(amount, amount, fc.option(amount), (actual, planMax, walletMax) => {
      const { plan, wallet } = splitFunding(actual, planMax, walletMax);
      expect(plan + wallet).toBe(actual);
      expect(plan).toBeGreaterThanOrEqual(0n);
      expect(wallet).toBeGreaterThanOrEqual(0n);
      if (walletMax !== null) expect(wallet).toBeLessThanOrEqual(walletMax);
      if (wallet > 0n) expect(plan).toBeGreaterThanOrEqual(planMax);
    }),
  );
});
