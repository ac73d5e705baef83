import { expect, test } from '@jest/globals';
import { withAccountState } from './rules.js';
import { type Account, nextVersion } from '../base/rules.js';

const NOW = 1_700_000_000_000;
const ACTIVE: Account = {
  id: 'acc_1',
  name: 'A',
  type: 'personal',
  state: 'active',
  version: 4,
  createdAt: 1,
  externalId: null,
};
const SUSPENDED: Account = { ...ACTIVE, state: 'suspended' };

test.each([
  ['suspend', ACTIVE, { state: 'suspended', version: NOW }],
  ['suspend', SUSPENDED, { state: 'suspended', version: 4 }],
  ['reinstate', ACTIVE, { state: 'active', version: 4 }],
  ['reinstate', SUSPENDED, { state: 'active', version: NOW }],
] as const)('withAccountState() of %s returns the new state for %o', (verb, account, expected) => {
  expect(withAccountState(account, verb, NOW)).toEqual({ ...account, ...expected });
});

test.each(['suspend', 'reinstate'] as const)('withAccountState() refuses %s of a closed account', (verb) => {
  expect(withAccountState({ ...ACTIVE, state: 'closed' }, verb, NOW)).toBeNull();
});

test('a version is later than the previous one and not before the current time', () => {
  expect(nextVersion({ version: 4 }, NOW)).toBe(NOW);
  // The clock was set back.
  expect(nextVersion({ version: NOW + 9 }, NOW)).toBe(NOW + 10);
});
