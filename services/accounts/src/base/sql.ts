import type { Account, ApiKey, Member, Membership, Operator, OwnedAccount, UserWithPassword, User } from './rules.js';

export interface UserRow {
  readonly id: string;
  readonly email: string;
  readonly email_verified: boolean;
}

export function userFromRow(row: UserRow): User {
  return { id: row.id, email: row.email, emailVerified: row.email_verified };
}

export type PersonRow = UserRow & { readonly password_hash: string | null };

export function personFromRow(row: PersonRow): UserWithPassword {
  return { ...userFromRow(row), passwordHash: row.password_hash };
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

/** A row of joined tables. Each column is prefixed with the alias of its table. */
export type JoinedRow = Readonly<Record<string, unknown>>;

const ACCOUNT = columns('a', ['id', 'name', 'type', 'state', 'version', 'created_at']);
const MEMBER = columns('m', ['id', 'account', 'user_id', 'role', 'cap_nano_usd', 'version', 'created_at']);
const USER = columns('u', ['id', 'email', 'email_verified']);
const KEY = columns('k', [
  'id',
  'account',
  'member',
  'kind',
  'name',
  'digest',
  'masked_secret',
  'state',
  'expires_at',
  'cap_nano_usd',
  'allowed_models',
  'version',
  'created_at',
  'last_used_at',
]);

/** Selects accounts with their owners. A condition may follow. */
export const OWNED_ACCOUNT = `SELECT ${ACCOUNT}, ${MEMBER}, ${USER}
  FROM accounts a
  JOIN members m ON m.account = a.id AND m.role = 'owner'
  JOIN users u ON u.id = m.user_id`;

export function ownedAccountFromRow(row: JoinedRow): OwnedAccount {
  const { member, user } = membershipFromRow(row);
  return { account: accountFromRow(unprefixed<AccountRow>(row, 'a_')), owner: member, user };
}

/** Selects members with their users, including deleted members. A condition may follow. */
export const MEMBERSHIP = `SELECT ${MEMBER}, ${USER} FROM members m JOIN users u ON u.id = m.user_id`;

export function membershipFromRow(row: JoinedRow): Membership {
  return {
    member: memberFromRow(unprefixed<MemberRow>(row, 'm_')),
    user: userFromRow(unprefixed<UserRow>(row, 'u_')),
  };
}

/** Selects an account ($1) with one of its keys ($2) and the key's member, as far as they exist. */
export const LOADED_ACCOUNT = `SELECT ${ACCOUNT}, ${KEY}, ${MEMBER}
  FROM accounts a
  LEFT JOIN api_keys k ON k.account = a.id AND k.id = $2
  LEFT JOIN members m ON m.id = k.member
 WHERE a.id = $1`;

export interface LoadedAccount {
  readonly account: Account | null;
  readonly key: ApiKey | null;
  readonly member: Member | null;
}

export function loadedAccountFromRow(row: JoinedRow): LoadedAccount {
  // Columns are read directly, because to_jsonb formats times and numbers differently.
  return {
    account: accountFromRow(unprefixed<AccountRow>(row, 'a_')),
    key: row['k_id'] === null ? null : keyFromRow(unprefixed<KeyRow>(row, 'k_')),
    member: row['m_id'] === null ? null : memberFromRow(unprefixed<MemberRow>(row, 'm_')),
  };
}

/**
 * Selects the session of one of the digests ($1) that began after $2 and was used after $3, with
 * one row per account of its user.
 */
export const SESSION = `SELECT s.digest AS s_digest, s.seen_at AS s_seen_at, ${USER}, ${ACCOUNT}, ${MEMBER}
  FROM (SELECT * FROM sessions
         WHERE digest = ANY($1) AND created_at > $2 AND seen_at > $3 ORDER BY array_position($1, digest) LIMIT 1) s
  JOIN users u ON u.id = s.user_id
  LEFT JOIN (members m JOIN accounts a ON a.id = m.account AND a.state <> 'closed')
    ON m.user_id = u.id AND m.deleted_at IS NULL
 ORDER BY m.id LIMIT $4`;

/** A session with its user and the user's open accounts, in the order of joining. */
export interface FoundSession {
  readonly digest: string;
  /** Epoch milliseconds. */
  readonly seenAt: number;
  readonly user: User;
  readonly memberships: readonly { readonly account: Account; readonly member: Member }[];
}

export function foundSessionFromRows(rows: readonly JoinedRow[]): FoundSession | null {
  const [first] = rows;
  if (first === undefined) return null;
  return {
    digest: first['s_digest'] as string,
    seenAt: (first['s_seen_at'] as Date).getTime(),
    user: userFromRow(unprefixed<UserRow>(first, 'u_')),
    memberships: rows
      .filter((row) => row['m_id'] !== null)
      .map((row) => ({
        account: accountFromRow(unprefixed<AccountRow>(row, 'a_')),
        member: memberFromRow(unprefixed<MemberRow>(row, 'm_')),
      })),
  };
}

function columns(alias: string, names: readonly string[]): string {
  return names.map((name) => `${alias}.${name} AS ${alias}_${name}`).join(', ');
}

/** Returns the columns of one table from a joined row, typed as `Row` by the caller. */
function unprefixed<Row>(row: JoinedRow, prefix: string): Row {
  const own = Object.entries(row).filter(([name]) => name.startsWith(prefix));
  return Object.fromEntries(own.map(([name, value]) => [name.slice(prefix.length), value])) as Row;
}

/** Returns the row that a statement must have written. */
export async function written<R>(row: Promise<R | null>): Promise<R> {
  const found = await row;
  if (found === null) throw new Error('a row that must be there is missing');
  return found;
}
