import type {
  AccountRecord,
  BodyOf,
  billingApplyCaps,
  KeyRecord,
  MemberRecord,
  RaisedAlert,
} from '@gateway/contracts/messages';
import type { AlertSubject, AuditKind } from '@gateway/contracts/operator';
import type { Versioned } from './rules.js';
import type { Account, ApiKey, Member, Membership, Operator, OwnedAccount, User } from './objects.js';
import type { SignInTx } from './signing-ports.js';

export interface AuditEntry {
  readonly actor: string;
  readonly action: string;
  /** Null: the change concerns no account. */
  readonly account: string | null;
  readonly objectId: string;
  /** Without secrets and digests. */
  readonly before: object | null;
  readonly after: object | null;
  /** `change` when absent. */
  readonly kind?: AuditKind;
  /** Where the request came from, as far as it is known. */
  readonly origin?: AuditOrigin;
}

export interface AuditOrigin {
  readonly client?: string | undefined;
  readonly agent?: string | null | undefined;
  readonly requestId?: string | undefined;
}

/** Made by one command if it has one: the same command never makes a second. */
interface Commanded {
  readonly command: string | null;
}
export type NewAccount = Pick<Account, 'id' | 'name' | 'type'> & Commanded;
export type NewMember = Omit<Member, 'version' | 'createdAt'> & Commanded;
export type NewKey = Omit<ApiKey, 'state' | 'version' | 'createdAt' | 'lastUsedAt'> & Commanded;
export type NewOperator = Omit<Operator, 'createdAt'> & Commanded & { readonly digest: string };

/** Accounts and the people in them, within one change. A member who left is no member any more. */
export interface PeopleTx {
  /**
   * The user of an address, locked; made when it is new, and not verified then. `email` in lower case; `signedUpAt` (epoch
   * milliseconds) of who comes by themselves.
   */
  ensureUser(user: Pick<User, 'id' | 'email'> & { readonly signedUpAt?: number }): Promise<User>;
  verifyUser(id: string): Promise<void>;
  insertAccount(account: NewAccount): Promise<Account>;
  accountOfCommand(command: string): Promise<OwnedAccount | null>;
  /** Locks the account until the end: changes of it, its members and its keys happen one after the other. */
  lockAccount(id: string): Promise<Account | null>;
  /** Writes state and version. */
  updateAccount(account: Account): Promise<void>;
  insertMember(member: NewMember): Promise<Member>;
  memberOfCommand(command: string): Promise<Membership | null>;
  /** The member of this account; null as id: its owner. */
  membership(account: string, member: string | null): Promise<Membership | null>;
  /** Whether the member was one of this account and left. */
  hasLeft(account: string, member: string): Promise<boolean>;
  /** The member with this address, in lower case. */
  memberWithEmail(account: string, email: string): Promise<Membership | null>;
  /** Writes role, cap and version. */
  updateMember(member: Member): Promise<void>;
  deleteMember(id: string): Promise<void>;
  /** Erases names and addresses of a closed account, in the audit log too; how many of its entries. Nothing else can. */
  eraseClosedAccount(id: string): Promise<number>;
}

/** API keys within one change. Every write happens under the lock of the key's account. */
export interface KeysTx {
  /** Keys of the account that take one of its places at that time. */
  countActiveKeys(account: string, nowMs: number): Promise<number>;
  /** Keys of a member that are active or suspended at that time, without the playground key. */
  countKeysOfMember(member: string, nowMs: number): Promise<number>;
  /** Null: another key has this digest. */
  insertKey(key: NewKey): Promise<ApiKey | null>;
  keyOfCommand(command: string): Promise<ApiKey | null>;
  /** The key as it is once its account is locked. */
  lockKey(id: string): Promise<ApiKey | null>;
  playgroundKey(member: string): Promise<ApiKey | null>;
  /** Writes digest, masked form and version. False: a key has this digest. */
  updateSecret(key: ApiKey): Promise<boolean>;
  /** Writes state and version. */
  updateKeyState(key: ApiKey): Promise<void>;
  /** Revokes all keys of an account that are active or suspended at that time, the playground keys too; gives them. */
  revokeKeys(account: string, nowMs: number): Promise<ApiKey[]>;
  rotationOf(command: string): Promise<{ readonly key: string; readonly version: number } | null>;
  insertRotation(command: string, key: ApiKey): Promise<void>;
}

/** Operators within one change. */
export interface OperatorsTx {
  /** Null: another operator has the name or the digest. */
  insertOperator(operator: NewOperator): Promise<Operator | null>;
  operatorOfCommand(command: string): Promise<Operator | null>;
  /** Also one who is deleted. */
  lockOperator(id: string): Promise<{ readonly operator: Operator; readonly deleted: boolean } | null>;
  /** With every session. */
  deleteOperator(id: string): Promise<void>;
}

/** What billing is told of the caps of keys and members. */
export type ToldCaps = BodyOf<typeof billingApplyCaps>['caps'];

/** Alerts within one change, and caps for billing, which raises them. */
export interface MailTx {
  /** False: it was taken before. */
  takeAlert(alert: RaisedAlert): Promise<boolean>;
  /** Members with verified addresses who are to read of it: owner, admins, and the one whose cap or key it is. */
  alertReaders(account: string, subject: AlertSubject): Promise<string[]>;
  /** Sent when the change is committed. */
  queueMail(member: string, alert: RaisedAlert): Promise<void>;
  /** Billing is told when the change is committed; nobody waits for it. */
  tellBilling(account: string, caps: ToldCaps): Promise<void>;
}

/** What admission is told of a change. */
export interface ChangedRecords {
  readonly accounts?: AccountRecord[];
  readonly keys?: KeyRecord[];
  readonly members?: MemberRecord[];
}

/** An object that admission knows by its version. */
export type { Versioned } from './rules.js';

/** One change in one transaction. */
export interface AccountsTx extends PeopleTx, KeysTx, OperatorsTx, MailTx, SignInTx {
  /** Until the end nobody else is at work on this command. For objects that have no account to lock yet. */
  lockCommand(command: string): Promise<void>;
  /** Admission is told when the change is committed; under the account's lock, so in the order of its changes. */
  tell(account: string, changed: Versioned, records: ChangedRecords): Promise<void>;
  audit(entry: AuditEntry): Promise<void>;
}
