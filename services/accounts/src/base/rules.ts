import type { KeyRecord } from '@gateway/contracts/messages';
import { refuse, type KeyTerms, type ManagementRefusal, type OperatorRole } from '@gateway/contracts/operator';
import { formatUsd, parseUsd } from '@gateway/metering';

/** Prefixes of the IDs of this service's objects. Times in the objects are epoch milliseconds. */

export type IdPrefix = 'acc' | 'usr' | 'mem' | 'key' | 'opr';

/** Creates a new object ID: time-ordered, without dashes. */
export type MakeId = (prefix: IdPrefix) => string;

export interface User {
  readonly id: string;
  /** In lower case. */
  readonly email: string;
  readonly emailVerified: boolean;
}

/** A user with the password hash. Null: no password is set. */
export interface UserWithPassword extends User {
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
  /** Unique name that an operator gave. Null: none. */
  readonly externalId: string | null;
}

export interface Member {
  readonly id: string;
  readonly account: string;
  readonly user: string;
  readonly role: 'owner' | 'admin' | 'member';
  /** Cap per calendar month. Null: no cap. */
  readonly capNanoUsd: bigint | null;
  readonly version: number;
  readonly createdAt: number;
}

/** The stored state of a key. The state `expired` is derived from the expiry. */
export type StoredKeyState = KeyRecord['state'];

/** A key: admission's record of it, and the fields that only accounts needs. */
export interface ApiKey extends Readonly<KeyTerms & Omit<KeyRecord, 'key' | 'capNanoUsd'>> {
  readonly id: string;
  readonly name: string;
  readonly maskedSecret: string;
  /** Cap per calendar month. Null: no cap. */
  readonly capNanoUsd: bigint | null;
  readonly createdAt: number;
  /** Time of the last reported admitted call. Null: never used. */
  readonly lastUsedAt: number | null;
  /** Name that an operator gave, unique in the account. Null: none. */
  readonly externalId: string | null;
}

/** An operator with a token. The deployment's own token has no such object. */
export interface Operator {
  readonly id: string;
  readonly name: string;
  readonly role: OperatorRole;
  readonly createdBy: string;
  readonly createdAt: number;
  /** Null: never. */
  readonly expiresAt: number | null;
}

export interface OwnedAccount {
  readonly account: Account;
  readonly owner: Member;
  readonly user: User;
}

export interface Membership {
  readonly member: Member;
  readonly user: User;
}

/** Topic of outbox messages that are sent as `billing.erase-origins`. All others carry caps. */
export const ERASURE_TOPIC = 'erase-origins';

/** An account's funds and limits, from billing. */
export interface Funding {
  readonly walletNanoUsd: bigint | null;
  readonly planActive: boolean;
  readonly activeKeysMax: number;
  readonly defaultKeyCapNanoUsd: bigint | null;
  /** Whether the account has or had money, a plan, limits, a webhook or usage. */
  readonly inLedger: boolean;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Cursor of the next page. Null: this is the last page. */
  readonly nextCursor: string | null;
}

/** Builds a page from at most `limit + 1` objects. The cursor is the last object's ID. */
export function pageOf<T>(found: readonly T[], limit: number, idOf: (item: T) => string): Page<T> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, nextCursor: found.length > limit && last !== undefined ? idOf(last) : null };
}

const ID = /^([a-z]{3})_[0-9a-f]{32}$/;

/** Whether the cursor has the form of this list's cursors. Null is the first page. */
export function isCursorOf(prefix: IdPrefix, cursor: string | null): boolean {
  return cursor === null || ID.exec(cursor)?.[1] === prefix;
}

/** Refuses a change of a closed account. */
export function accountClosed(): ManagementRefusal {
  return refuse('state_conflict', 'the account is closed');
}

/** Refuses a second account or key with an external ID. */
export function externalIdTaken(kind: 'account' | 'key'): ManagementRefusal {
  return refuse('state_conflict', `externalId: there is another ${kind} with this external ID`, 'externalId');
}

/** Refuses a command that was used for another request. */
export function commandTaken(): ManagementRefusal {
  return refuse('idempotency_conflict', 'command reused with a different request');
}

/**
 * Parses a monthly cap in nano-USD. Null or absent means no cap. The request's schema has checked
 * format and bounds.
 */
export function readCap(text: string | null | undefined): bigint | null {
  return text === null || text === undefined ? null : parseUsd(text);
}

/** An account, a key or a member. */
export type Versioned = Pick<Account, 'id' | 'version'>;

/**
 * Returns the version of a changed object. It is greater than the previous version. As far as
 * clocks agree, it is also greater than later versions that a database failover lost and admission
 * may have (docs/protocol.md#r17).
 * @param nowMs read after the object was locked
 */
export function nextVersion({ version }: { readonly version: number }, nowMs: number): number {
  return Math.max(version + 1, nowMs);
}

/**
 * Returns the name of a change in the outbox. It is derived from stored fields, so that a repeated
 * command, which changes nothing, waits for the earlier change.
 */
export function changeOf({ id, version }: Versioned): string {
  return `${id}:${version}`;
}

/** Formats a cap in USD. Null: no cap. */
export function capText(capNanoUsd: bigint | null): string | null {
  return capNanoUsd === null ? null : formatUsd(capNanoUsd);
}

/** Converts a cap of a key or member to billing's record. */
export function toCapRecord(
  kind: 'key' | 'member',
  { id, capNanoUsd, version }: Pick<Member, 'id' | 'capNanoUsd' | 'version'>,
) {
  return { kind, id, capNanoUsd: capNanoUsd === null ? null : Number(capNanoUsd), version };
}

/** Formats epoch milliseconds as ISO 8601, UTC. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
