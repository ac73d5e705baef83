import type { MemberRecord, MemberPermission } from '@gateway/contracts/messages';
import { type MemberView, refuse, type ManagementRefusal, type MemberPut } from '@gateway/contracts/operator';
import {
  type Account,
  accountClosed,
  capText,
  type Member,
  type Membership,
  nextVersion,
  readCap,
  timeText,
} from '../base/rules.js';

export interface NewMemberInput {
  /** Null: the account does not exist. */
  readonly account: Account | null;
  /** Whether the user of the address is already a member. */
  readonly isMember: boolean;
  readonly teamsEnabled: boolean;
}

/** Refuses a new member. Null: permitted. A personal account has only its owner. */
export function refuseNewMember({ account, isMember, teamsEnabled }: NewMemberInput): ManagementRefusal | null {
  if (!account) return refuse('not_found', 'there is no such account');
  if (account.state === 'closed') return accountClosed();
  if (!teamsEnabled) return refuse('state_conflict', 'team accounts are not enabled on this deployment');
  if (account.type === 'personal')
    return refuse('state_conflict', 'a personal account has no members except its owner');
  if (isMember) return refuse('state_conflict', 'the person is already a member of the account', 'email');
  return null;
}

export interface MemberChange {
  /** The same object if nothing changes. */
  readonly member: Member;
  /** Whether the address becomes verified, for the user in all accounts. */
  readonly verify: boolean;
}

/**
 * Decides the fields of a replaced member. Only a new cap raises the version, because admission has
 * no other field. A verified address stays verified. The owner cannot change. A change that needs
 * one of `missingPermissions` is refused.
 */
export function decideMemberPut(
  spec: MemberPut,
  { member, user }: Membership,
  nowMs: number,
  missingPermissions: readonly MemberPermission[] = [],
): MemberChange | ManagementRefusal {
  const cap = readCap(spec.monthlySpendCapUsd);
  if (spec.email.toLowerCase() !== user.email)
    return refuse('state_conflict', 'a member keeps the address; another address is another member', 'email');
  if (member.role === 'owner' && spec.role !== 'owner')
    return refuse('state_conflict', 'the owner of an account stays its owner', 'role');
  if (member.role !== 'owner' && spec.role === 'owner')
    return refuse('state_conflict', 'an account has exactly one owner, who was created with it', 'role');
  const capChanges = cap !== member.capNanoUsd;
  const verify = spec.emailVerified && !user.emailVerified;
  if (verify && missingPermissions.includes('keys')) return needsAdmin('emailVerified', 'a verified address');
  if (spec.role === 'admin' && member.role === 'member' && missingPermissions.includes('keys'))
    return needsAdmin('role', 'a higher role');
  if (capChanges && missingPermissions.includes('money')) return needsAdmin('monthlySpendCapUsd', 'another cap');
  const changes = capChanges || spec.role !== member.role;
  const version = capChanges ? nextVersion(member, nowMs) : member.version;
  return { member: changes ? { ...member, role: spec.role, capNanoUsd: cap, version } : member, verify };
}

/** Refuses a field of a member that the operator's role must not change. */
function needsAdmin(param: string, what: string): ManagementRefusal {
  return refuse('operator_forbidden', `${param}: ${what} needs the role admin`, param);
}

/** Refuses a deletion. Null: permitted. `keys`: the member's active and suspended keys. */
export function refuseMemberDelete(member: Member, keys: number): ManagementRefusal | null {
  if (member.role === 'owner') return refuse('state_conflict', 'the owner of an account cannot be deleted');
  if (keys > 0)
    return refuse('in_use', `the member has ${keys} keys that are not revoked or expired; revoke them first`);
  return null;
}

/** Converts a member to the operator API's view. */
export function toMemberView({ member, user }: Membership): MemberView {
  return {
    id: member.id,
    accountId: member.account,
    email: user.email,
    emailVerified: user.emailVerified,
    role: member.role,
    monthlySpendCapUsd: capText(member.capNanoUsd),
    createdAt: timeText(member.createdAt),
  };
}

/** Converts a member to admission's record. */
export function toMemberRecord({ id, account, capNanoUsd, version }: Member): MemberRecord {
  return { account, member: id, capNanoUsd: capNanoUsd === null ? null : Number(capNanoUsd), version };
}
