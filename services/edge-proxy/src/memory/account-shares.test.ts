import { expect, test } from '@jest/globals';
import { AccountShares } from './account-shares.js';
import { HeldBytes } from './held-bytes.js';

const MIB = 1024 * 1024;

test('each account has its part of the pool, and one that holds nothing is removed', () => {
  const shares = new AccountShares(new HeldBytes(400 * MIB), 0.25);
  expect([shares.take('a', 60 * MIB), shares.take('a', 41 * MIB), shares.take('a', 40 * MIB)]).toEqual([
    true,
    false,
    true,
  ]);
  expect([shares.take('b', 100 * MIB), shares.take('b', 1), shares.size]).toEqual([true, false, 2]);
  shares.give('a', 60 * MIB);
  expect([shares.take('a', 61 * MIB), shares.take('a', 60 * MIB)]).toEqual([false, true]);
  shares.give('a', 100 * MIB);
  shares.give('b', 100 * MIB);
  expect(shares.size).toBe(0);
});

test('an account may hold three of the largest bodies in a small pool', () => {
  const shares = new AccountShares(new HeldBytes(40 * MIB), 0.25);
  expect([shares.take('a', 32 * MIB), shares.take('a', 1)]).toEqual([true, false]);
});
