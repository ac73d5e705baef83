import { formatUsd } from '@gateway/metering';
import type { AccountRecord, KeyRecord, MemberRecord } from '@gateway/contracts/messages';
import type { AccountView, KeyView, MemberView, OperatorView } from '@gateway/contracts/operator';
import { keyState } from './keys/rules.js';
import type { Account, ApiKey, Member, Membership, Operator, OwnedAccount } from './objects.js';

/** What an operator sees. */
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

/** Without the digest. */
export function toKeyView(key: ApiKey, nowMs: number): KeyView {
  return {
    id: key.id,
    accountId: key.account,
    memberId: key.member,
    name: key.name,
    maskedSecret: key.maskedSecret,
    state: keyState(key, nowMs),
    monthlySpendCapUsd: capText(key.capNanoUsd),
    allowedModels: key.allowedModels && [...key.allowedModels],
    expiresAt: key.expiresAt === null ? null : timeText(key.expiresAt),
    createdAt: timeText(key.createdAt),
    lastUsedAt: key.lastUsedAt === null ? null : timeText(key.lastUsedAt),
  };
}

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

/** Without the digest. */
export function toOperatorView({ id, name, role, createdAt, createdBy, expiresAt }: Operator): OperatorView {
  const expires = expiresAt === null ? null : timeText(expiresAt);
  return { id, name, role, createdAt: timeText(createdAt), createdBy, expiresAt: expires };
}

/** What admission knows: that nothing passes, not that it never will again. */
export function toAccountRecord({ id, state, version }: Account): AccountRecord {
  return { account: id, state: state === 'active' ? 'active' : 'suspended', version };
}

export function toKeyRecord(key: ApiKey): KeyRecord {
  return {
    account: key.account,
    key: key.id,
    member: key.member,
    kind: key.kind,
    digest: key.digest,
    state: key.state,
    expiresAt: key.expiresAt,
    capNanoUsd: key.capNanoUsd === null ? null : Number(key.capNanoUsd),
    allowedModels: key.allowedModels && [...key.allowedModels],
    version: key.version,
  };
}

export function toMemberRecord({ id, account, capNanoUsd, version }: Member): MemberRecord {
  return { account, member: id, capNanoUsd: capNanoUsd === null ? null : Number(capNanoUsd), version };
}

/** What billing knows of a cap. */
export function toToldCap(
  kind: 'key' | 'member',
  { id, capNanoUsd, version }: Pick<Member, 'id' | 'capNanoUsd' | 'version'>,
) {
  return { kind, id, capNanoUsd: capNanoUsd === null ? null : Number(capNanoUsd), version };
}

function capText(capNanoUsd: bigint | null): string | null {
  return capNanoUsd === null ? null : formatUsd(capNanoUsd);
}

export function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
