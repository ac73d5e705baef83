import { expect, test } from '@jest/globals';
import { problemsOf } from './books.js';

const right = { records: 7, charged: 7, deadLetters: 0, wrongWallets: 0, trialBalance: 0n };

test('books with one charged record for each call and exact wallets are right', () => {
  expect(problemsOf(right, 7)).toEqual([]);
});

test.each([
  ['a call without a record', { records: 6, charged: 6 }],
  ['a record too many', { records: 8, charged: 8 }],
  ['a record without a charge', { charged: 6 }],
  ['an event that was set aside', { deadLetters: 1 }],
  ['a wrong wallet', { wrongWallets: 1 }],
  ['unbalanced entries', { trialBalance: -1n }],
])('%s is a problem', (_title, wrong) => {
  expect(problemsOf({ ...right, ...wrong }, 7)).not.toEqual([]);
});
