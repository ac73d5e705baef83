import { KEY_TERMS, type KeyTerms } from '@gateway/contracts/operator';
import type { Account, ApiKey, Member, Membership, Operator, OwnedAccount, User, UserWithPassword } from './rules.js';

/** A row by column name. In a join, `m_id` is the column `id` of the table with the alias `m`. */
export type Row = Readonly<Record<string, unknown>>;

/** The columns of an object, by property. */
type Columns<T> = Readonly<Record<keyof T & string, string>>;

/** Describes how objects of one kind are stored. */
function storedAs<T>(columns: Columns<T>) {
  const entries = Object.entries<string>(columns);
  return {
    columns,
    selected: (alias: string) => entries.map(([, name]) => `${alias}.${name} AS ${alias}_${name}`).join(', '),
    /** Converts a row, which may have other columns. */
    read: (row: Row, prefix = '') =>
      Object.fromEntries(entries.map(([property, name]) => [property, toProperty(property, row[prefix + name])])) as T,
  };
}

/** Converts times to epoch milliseconds, and integers other than amounts to numbers. */
function toProperty(property: string, value: unknown): unknown {
  if (value instanceof Date) return value.getTime();
  return typeof value === 'bigint' && !property.endsWith('NanoUsd') ? Number(value) : value;
}

const USER_COLUMNS: Columns<User> = { id: 'id', email: 'email', emailVerified: 'email_verified' };
export const USERS = storedAs<User>(USER_COLUMNS);
export const PEOPLE = storedAs<UserWithPassword>({ ...USER_COLUMNS, passwordHash: 'password_hash' });
export const ACCOUNTS = storedAs<Account>({
  id: 'id',
  name: 'name',
  type: 'type',
  state: 'state',
  version: 'version',
  createdAt: 'created_at',
  externalId: 'external_id',
});
export const MEMBERS = storedAs<Member>({
  id: 'id',
  account: 'account',
  user: 'user_id',
  role: 'role',
  capNanoUsd: 'cap_nano_usd',
  version: 'version',
  createdAt: 'created_at',
});
export const OPERATORS = storedAs<Operator>({
  id: 'id',
  name: 'name',
  role: 'role',
  createdBy: 'created_by',
  createdAt: 'created_at',
  expiresAt: 'expires_at',
});
/** Each term of a key is a column: `allowed_models`. */
const TERM_COLUMNS = Object.fromEntries(
  Object.keys(KEY_TERMS).map((name) => [name, name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]),
) as Columns<KeyTerms>;
export const KEYS = storedAs<ApiKey>({
  id: 'id',
  account: 'account',
  member: 'member',
  kind: 'kind',
  name: 'name',
  digest: 'digest',
  maskedSecret: 'masked_secret',
  state: 'state',
  expiresAt: 'expires_at',
  capNanoUsd: 'cap_nano_usd',
  ...TERM_COLUMNS,
  version: 'version',
  createdAt: 'created_at',
  lastUsedAt: 'last_used_at',
  externalId: 'external_id',
});

/** Selects accounts with their owners. A condition may follow. */
export const OWNED_ACCOUNT = `SELECT ${ACCOUNTS.selected('a')}, ${MEMBERS.selected('m')}, ${USERS.selected('u')}
  FROM accounts a
  JOIN members m ON m.account = a.id AND m.role = 'owner'
  JOIN users u ON u.id = m.user_id`;

export function ownedAccountFromRow(row: Row): OwnedAccount {
  const { member, user } = membershipFromRow(row);
  return { account: ACCOUNTS.read(row, 'a_'), owner: member, user };
}

/** Selects members with their users, including deleted members. A condition may follow. */
export const MEMBERSHIP = `SELECT ${MEMBERS.selected('m')}, ${USERS.selected('u')} FROM members m JOIN users u ON u.id = m.user_id`;

export function membershipFromRow(row: Row): Membership {
  return { member: MEMBERS.read(row, 'm_'), user: USERS.read(row, 'u_') };
}

/** Selects an account ($1) with one of its keys ($2) and the key's member, as far as they exist. */
export const LOADED_ACCOUNT = `SELECT ${ACCOUNTS.selected('a')}, ${KEYS.selected('k')}, ${MEMBERS.selected('m')}
  FROM accounts a
  LEFT JOIN api_keys k ON k.account = a.id AND k.id = $2
  LEFT JOIN members m ON m.id = k.member
 WHERE a.id = $1`;

export interface LoadedAccount {
  readonly account: Account | null;
  readonly key: ApiKey | null;
  readonly member: Member | null;
}

export function loadedAccountFromRow(row: Row): LoadedAccount {
  // Columns are read directly, because to_jsonb formats times and numbers differently.
  return {
    account: ACCOUNTS.read(row, 'a_'),
    key: row['k_id'] === null ? null : KEYS.read(row, 'k_'),
    member: row['m_id'] === null ? null : MEMBERS.read(row, 'm_'),
  };
}

/**
 * Selects the session of one of the digests ($1) that began after $2 and was used after $3, with
 * one row per account of its user.
 */
export const SESSION = `SELECT s.digest AS s_digest, s.seen_at AS s_seen_at,
         ${USERS.selected('u')}, ${ACCOUNTS.selected('a')}, ${MEMBERS.selected('m')}
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

export function foundSessionFromRows(rows: readonly Row[]): FoundSession | null {
  const [first] = rows;
  if (first === undefined) return null;
  return {
    digest: first['s_digest'] as string,
    seenAt: (first['s_seen_at'] as Date).getTime(),
    user: USERS.read(first, 'u_'),
    memberships: rows
      .filter((row) => row['m_id'] !== null)
      .map((row) => ({ account: ACCOUNTS.read(row, 'a_'), member: MEMBERS.read(row, 'm_') })),
  };
}

/** Returns the row that a statement must have written. */
export async function written<R>(row: Promise<R | null>): Promise<R> {
  const found = await row;
  if (found === null) throw new Error('a row that must be there is missing');
  return found;
}
