import type { Funding } from './domain/new-key.js';
import type { Account, ApiKey, Member, Membership, OwnedAccount, User } from './domain/objects.js';

export interface AuditEntry {
  readonly actor: string;
  readonly action: 'create_account' | 'create_key';
  readonly account: string;
  readonly objectId: string;
  /** Without secrets and digests. */
  readonly before: object | null;
  readonly after: object | null;
}

export type NewAccount = Pick<Account, 'id' | 'name' | 'type'>;
export type NewMember = Omit<Member, 'version'>;
export type NewKey = Omit<ApiKey, 'state' | 'version' | 'createdAt'>;

/** One change in one transaction. */
export interface AccountsTx {
  /** The user of an address, made when it is new; verified if it was or shall be. `email` in lower case. */
  ensureUser(user: User): Promise<User>;
  insertAccount(account: NewAccount): Promise<Account>;
  insertMember(member: NewMember): Promise<Member>;
  /** Locks the account until the end: changes of its keys happen one after the other. */
  lockAccount(id: string): Promise<Account | null>;
  /** The member of this account; null as id: its owner. */
  membership(account: string, member: string | null): Promise<Membership | null>;
  /** Keys of the account that take one of its places at that time. */
  countActiveKeys(account: string, nowMs: number): Promise<number>;
  /** Null: another key has this digest. */
  insertKey(key: NewKey): Promise<ApiKey | null>;
  audit(entry: AuditEntry): Promise<void>;
}

/** Account, key and member of the key at one instant. */
export interface LoadedAccount {
  readonly account: Account | null;
  readonly key: ApiKey | null;
  readonly member: Member | null;
}

export interface AccountsStore {
  change<T>(work: (tx: AccountsTx) => Promise<T>): Promise<T>;
  /** `key` null: the account alone. A key of another account is not found. */
  load(account: string, key: string | null): Promise<LoadedAccount>;
  /** The key that has one of the digests. */
  findKey(digests: readonly string[]): Promise<Pick<ApiKey, 'account' | 'id' | 'digest'> | null>;
  /** In the order of creation, after `after` (an account's id). */
  list(after: string | null, limit: number): Promise<OwnedAccount[]>;
  countAccounts(): Promise<number>;
}

/** Billing, over the bus. */
export interface FundingSource {
  fundingOf(account: string): Promise<Funding>;
}

/** A new id of an object: time-ordered, without dashes. */
export type MakeId = (prefix: 'acc' | 'usr' | 'mem' | 'key') => string;
