import type { Account } from '../objects.js';

export const ACCOUNT_VERBS = ['suspend', 'reinstate'] as const;
export type AccountVerb = (typeof ACCOUNT_VERBS)[number];

/** The account after the verb; the same object when its state is reached already; null: it is closed, which is final. */
export function withAccountState(account: Account, verb: AccountVerb): Account | null {
  if (account.state === 'closed') return null;
  const state = verb === 'suspend' ? 'suspended' : 'active';
  return state === account.state ? account : { ...account, state, version: account.version + 1 };
}
