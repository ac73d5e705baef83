import { refuse, type ManagementRefusal, type OperatorRole } from '@gateway/contracts/operator';
import { formatUsd, parseUsd } from '@gateway/metering';

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

/** Outbox messages to billing that become a `billing.erase-origins`; the others carry caps. */
export const ERASURE_TOPIC = 'erase-origins';

/** An account's funds and limits, from billing. */
export interface Funding {
  readonly walletNanoUsd: bigint | null;
  readonly planActive: boolean;
  readonly activeKeysMax: number;
  readonly defaultKeyCapNanoUsd: bigint | null;
  /** It has or had money, a plan, limits, a webhook or usage. */
  readonly inLedger: boolean;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Where the next page begins; null on the last one. */
  readonly nextCursor: string | null;
}

/**
 * The first `limit` of at most `limit + 1` objects in the order of a list. The cursor is the id of
 * the last one.
 */
export function pageOf<T>(found: readonly T[], limit: number, idOf: (item: T) => string): Page<T> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, nextCursor: found.length > limit && last !== undefined ? idOf(last) : null };
}

const ID = /^([a-z]{3})_[0-9a-f]{32}$/;

/** Whether a list of these objects can have given this cursor; null is the first page. */
export function isCursorOf(prefix: IdPrefix, cursor: string | null): boolean {
  return cursor === null || ID.exec(cursor)?.[1] === prefix;
}

/** Nothing can be done to a closed account, or made in it, any more. */
export function accountClosed(): ManagementRefusal {
  return refuse('state_conflict', 'the account is closed');
}

/** The same command came for something else before. */
export function commandTaken(): ManagementRefusal {
  return refuse('idempotency_conflict', 'the command belongs to another request');
}

/**
 * A monthly cap as a request states it, in nano-USD; null or absent is none. The request's schema
 * holds its form and bounds.
 */
export function readCap(text: string | null | undefined): bigint | null {
  return text === null || text === undefined ? null : parseUsd(text);
}

/** An account, a key or a member: what has a version. */
export type Versioned = Pick<Account, 'id' | 'version'>;

/**
 * The version of a changed object: later than the one before it, and than those that a failover of
 * the database lost after it, which admission may know (docs/protocol.md#r17), as far as clocks
 * agree.
 * @param nowMs read when the object is locked
 */
export function nextVersion({ version }: { readonly version: number }, nowMs: number): number {
  return Math.max(version + 1, nowMs);
}

/**
 * The name under which a change waits in the outbox. It follows from what is stored, so that a
 * repeated command, which changes nothing, waits for the change that it finds.
 */
export function changeOf({ id, version }: Versioned): string {
  return `${id}:${version}`;
}

/** A cap in USD for people; null: none. */
export function capText(capNanoUsd: bigint | null): string | null {
  return capNanoUsd === null ? null : formatUsd(capNanoUsd);
}

/** A cap of a key or member as billing gets it. */
export function toCapRecord(
  kind: 'key' | 'member',
  { id, capNanoUsd, version }: Pick<Member, 'id' | 'capNanoUsd' | 'version'>,
) {
  return { kind, id, capNanoUsd: capNanoUsd === null ? null : Number(capNanoUsd), version };
}

/** An instant (epoch milliseconds) in ISO 8601, UTC. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
