import type { Account } from './objects.js';

export const ACCOUNT_VERBS = ['suspend', 'reinstate'] as const;
export type AccountVerb = (typeof ACCOUNT_VERBS)[number];

/** The account after the verb; the same object when its state is reached already. No state of an account is final. */
export function withAccountState(account: Account, verb: AccountVerb): Account {
  const state = verb === 'suspend' ? 'suspended' : 'active';
  return state === account.state ? account : { ...account, state, version: account.version + 1 };
}
