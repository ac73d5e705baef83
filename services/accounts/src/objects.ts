import type { OperatorRole } from '@gateway/contracts/operator';

/** Objects of this service as verbs see them. Times are epoch milliseconds. */

export type IdPrefix = 'acc' | 'usr' | 'mem' | 'key' | 'opr';

/** Makes a new id of an object: time-ordered, without dashes. */
export type MakeId = (prefix: IdPrefix) => string;

export interface User {
  readonly id: string;
  /** In lower case. */
  readonly email: string;
  readonly emailVerified: boolean;
}

/** A user with the hash of the password; null: none is set. */
export interface Person extends User {
  readonly passwordHash: string | null;
}

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly type: 'personal' | 'team';
  /** `closed` is final. */
  readonly state: 'active' | 'suspended' | 'closed';
  readonly version: number;
  readonly createdAt: number;
}

export interface Member {
  readonly id: string;
  readonly account: string;
  readonly user: string;
  readonly role: 'owner' | 'admin' | 'member';
  /** Per calendar month; null: none. */
  readonly capNanoUsd: bigint | null;
  readonly version: number;
  readonly createdAt: number;
}

/** What is stored of a key's state; that it has expired follows from its expiry. */
export type StoredKeyState = 'active' | 'suspended' | 'revoked';

export interface ApiKey {
  readonly id: string;
  readonly account: string;
  readonly member: string;
  readonly kind: 'api' | 'playground';
  readonly name: string;
  /** HMAC-SHA-256 of the secret; leaves this service only for admission. */
  readonly digest: string;
  readonly maskedSecret: string;
  readonly state: StoredKeyState;
  readonly expiresAt: number | null;
  /** Per calendar month; null: none. */
  readonly capNanoUsd: bigint | null;
  /** Never empty; null: every model that the account may use. */
  readonly allowedModels: readonly string[] | null;
  readonly version: number;
  readonly createdAt: number;
  /** Time of the last admitted call that was reported; null: none was. */
  readonly lastUsedAt: number | null;
}

/** Somebody who may use the operator API. The deployment's own token is not one of them. */
export interface Operator {
  readonly id: string;
  readonly name: string;
  readonly role: OperatorRole;
  readonly createdBy: string;
  readonly createdAt: number;
  /** Null: never. */
  readonly expiresAt: number | null;
}

/** An account with its owner. */
export interface OwnedAccount {
  readonly account: Account;
  readonly owner: Member;
  readonly user: User;
}

/** A user in an account. */
export interface Membership {
  readonly member: Member;
  readonly user: User;
}

/** Where a request came from. */
export interface AuditOrigin {
  readonly client?: string | undefined;
  readonly agent?: string | null | undefined;
  readonly requestId?: string | undefined;
}
