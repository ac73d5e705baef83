import { expect, test } from '@jest/globals';
import { withAccountState } from './rules.js';
import type { Account } from '../base/rules.js';

const ACTIVE: Account = { id: 'acc_1', name: 'A', type: 'personal', state: 'active', version: 4, createdAt: 1 };
const SUSPENDED: Account = { ...ACTIVE, state: 'suspended' };

test.each([
  ['suspend', ACTIVE, { state: 'suspended', version: 5 }],
  ['suspend', SUSPENDED, { state: 'suspended', version: 4 }],
  ['reinstate', ACTIVE, { state: 'active', version: 4 }],
  ['reinstate', SUSPENDED, { state: 'active', version: 5 }],
] as const)('%s of %o', (verb, account, expected) => {
  expect(withAccountState(account, verb)).toEqual({ ...account, ...expected });
});

test.each(['suspend', 'reinstate'] as const)('%s of a closed account is refused', (verb) => {
  expect(withAccountState({ ...ACTIVE, state: 'closed' }, verb)).toBeNull();
});
