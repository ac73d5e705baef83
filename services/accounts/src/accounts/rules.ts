import type { AccountRecord } from '@gateway/contracts/messages';
import type { AccountView } from '@gateway/contracts/operator';
import { type Account, nextVersion, type OwnedAccount, timeText } from '../base/rules.js';

export const ACCOUNT_VERBS = ['suspend', 'reinstate'] as const;
export type AccountVerb = (typeof ACCOUNT_VERBS)[number];

/**
 * Returns the account after the verb, or the same object if it already has the state. Null: the
 * account is closed, which is final.
 */
export function withAccountState(account: Account, verb: AccountVerb, nowMs: number): Account | null {
  if (account.state === 'closed') return null;
  const state = verb === 'suspend' ? 'suspended' : 'active';
  return state === account.state ? account : { ...account, state, version: nextVersion(account, nowMs) };
}

/** Converts an account to the operator API's view. */
export function toAccountView({ account, owner, user }: OwnedAccount): AccountView {
  return {
    id: account.id,
    name: account.name,
    type: account.type,
    state: account.state,
    ownerMemberId: owner.id,
    email: user.email,
    emailVerified: user.emailVerified,
    createdAt: timeText(account.createdAt),
    externalId: account.externalId,
  };
}

/**
 * Converts an account to admission's record: whether calls are admitted, without the difference
 * between suspended and closed.
 */
export function toAccountRecord({ id, state, version }: Account): AccountRecord {
  return { account: id, state: state === 'active' ? 'active' : 'suspended', version };
}
