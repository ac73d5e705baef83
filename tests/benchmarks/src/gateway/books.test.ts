import { expect, test } from '@jest/globals';
import { findProblems } from './books.js';

const right = { records: 7, charged: 7, deadLetters: 0, wrongWallets: 0, trialBalance: 0n };

test('findProblems() is empty for one charged record per call and exact wallets', () => {
  expect(findProblems(right, 7)).toEqual([]);
});

test.each([
  ['a call without a record', { records: 6, charged: 6 }],
  ['a record too many', { records: 8, charged: 8 }],
  ['a record without a charge', { charged: 6 }],
  ['a dead letter', { deadLetters: 1 }],
  ['a wrong wallet', { wrongWallets: 1 }],
  ['unbalanced entries', { trialBalance: -1n }],
])('findProblems() reports %s', (_title, wrong) => {
  expect(findProblems({ ...right, ...wrong }, 7)).not.toEqual([]);
});

test('findProblems() allows at most one record per failed call', () => {
  expect(findProblems(right, 7, 2)).toEqual([]);
  expect(findProblems({ ...right, records: 9, charged: 8 }, 7, 2)).toEqual([]);
  expect(findProblems({ ...right, records: 10 }, 7, 2)).toEqual(['10 usage records for 7 answered calls and 2 others']);
  expect(findProblems({ ...right, charged: 6 }, 7, 2)).not.toEqual([]);
});
