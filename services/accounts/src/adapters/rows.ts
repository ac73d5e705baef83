import type { Account, ApiKey, Member, Operator, User } from '../domain/objects.js';

export interface UserRow {
  readonly id: string;
  readonly email: string;
  readonly email_verified: boolean;
}

export function userFromRow(row: UserRow): User {
  return { id: row.id, email: row.email, emailVerified: row.email_verified };
}

export interface AccountRow {
  readonly id: string;
  readonly name: string;
  readonly type: Account['type'];
  readonly state: Account['state'];
  readonly version: bigint;
  readonly created_at: Date;
}

export function accountFromRow(row: AccountRow): Account {
  const { id, name, type, state } = row;
  return { id, name, type, state, version: Number(row.version), createdAt: row.created_at.getTime() };
}

export interface MemberRow {
  readonly id: string;
  readonly account: string;
  readonly user_id: string;
  readonly role: Member['role'];
  readonly cap_nano_usd: bigint | null;
  readonly version: bigint;
  readonly created_at: Date;
}

export function memberFromRow(row: MemberRow): Member {
  return {
    id: row.id,
    account: row.account,
    user: row.user_id,
    role: row.role,
    capNanoUsd: row.cap_nano_usd,
    version: Number(row.version),
    createdAt: row.created_at.getTime(),
  };
}

export interface KeyRow {
  readonly id: string;
  readonly account: string;
  readonly member: string;
  readonly kind: ApiKey['kind'];
  readonly name: string;
  readonly digest: string;
  readonly masked_secret: string;
  readonly state: ApiKey['state'];
  readonly expires_at: Date | null;
  readonly cap_nano_usd: bigint | null;
  readonly allowed_models: string[] | null;
  readonly version: bigint;
  readonly created_at: Date;
  readonly last_used_at: Date | null;
}

export function keyFromRow(row: KeyRow): ApiKey {
  return {
    id: row.id,
    account: row.account,
    member: row.member,
    kind: row.kind,
    name: row.name,
    digest: row.digest,
    maskedSecret: row.masked_secret,
    state: row.state,
    expiresAt: row.expires_at && row.expires_at.getTime(),
    capNanoUsd: row.cap_nano_usd,
    allowedModels: row.allowed_models,
    version: Number(row.version),
    createdAt: row.created_at.getTime(),
    lastUsedAt: row.last_used_at && row.last_used_at.getTime(),
  };
}

export interface OperatorRow {
  readonly id: string;
  readonly name: string;
  readonly role: Operator['role'];
  readonly created_by: string;
  readonly created_at: Date;
  readonly expires_at: Date | null;
}

export function operatorFromRow(row: OperatorRow): Operator {
  const { id, name, role } = row;
  const expiresAt = row.expires_at && row.expires_at.getTime();
  return { id, name, role, createdBy: row.created_by, createdAt: row.created_at.getTime(), expiresAt };
}
