import type { AccountRecord } from '@gateway/contracts/messages';
import type { AccountView } from '@gateway/contracts/operator';
import { type Account, nextVersion, type OwnedAccount, timeText } from '../base/rules.js';

export const ACCOUNT_VERBS = ['suspend', 'reinstate'] as const;
export type AccountVerb = (typeof ACCOUNT_VERBS)[number];

/**
 * The account after the verb; the same object when its state is reached already; null: it is
 * closed, which is final.
 */
export function withAccountState(account: Account, verb: AccountVerb, nowMs: number): Account | null {
  if (account.state === 'closed') return null;
  const state = verb === 'suspend' ? 'suspended' : 'active';
  return state === account.state ? account : { ...account, state, version: nextVersion(account, nowMs) };
}

/** An account as operators see it. */
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
  };
}

/** An account as admission gets it: whether calls may pass, not whether that is final. */
export function toAccountRecord({ id, state, version }: Account): AccountRecord {
  return { account: id, state: state === 'active' ? 'active' : 'suspended', version };
}
