import type { AlertSubject, AuditEntryView, AuditKind, ManagementRefusal } from '@gateway/contracts/operator';
import type { AlertNames, MailText } from './mail/alert-mail-rules.js';
import type { Funding } from './keys/new-key-rules.js';
import type { Account, ApiKey, IdPrefix, Member, Membership, Operator, OwnedAccount, User } from './objects.js';
import type { AccountsTx, Versioned } from './tx-ports.js';

/** Account, key and member of the key at one instant. */
export interface LoadedAccount {
  readonly account: Account | null;
  readonly key: ApiKey | null;
  readonly member: Member | null;
}

/** Lists are in the order of creation and begin after an id; null: at the first object. */
export interface AccountsStore {
  change<T>(work: (tx: AccountsTx) => Promise<T>): Promise<T>;
  /** `key` null: the account alone. A key of another account is not found. */
  load(account: string, key: string | null): Promise<LoadedAccount>;
  /** The key that has one of the digests. */
  findKey(digests: readonly string[]): Promise<Pick<ApiKey, 'account' | 'id' | 'digest'> | null>;
  account(id: string): Promise<OwnedAccount | null>;
  list(after: string | null, limit: number): Promise<OwnedAccount[]>;
  countAccounts(): Promise<number>;
  members(account: string, after: string | null, limit: number): Promise<Membership[]>;
  /** Without playground keys; `member` null: of all. */
  keys(account: string, member: string | null, after: string | null, limit: number): Promise<ApiKey[]>;
  /** Also of playground keys, and of members who left. */
  names(account: string, keys: readonly string[], members: readonly string[]): Promise<Names>;
  /** Not a playground key. */
  key(id: string): Promise<ApiKey | null>;
  /** Writes when keys were last used (epoch milliseconds); an earlier time than the written one changes nothing. */
  noteUses(uses: ReadonlyMap<string, number>): Promise<void>;
  /** The one who has one of the digests, is not deleted and has not expired. */
  findOperator(digests: readonly string[], nowMs: number): Promise<Operator | null>;
  /** Without deleted ones. */
  operators(after: string | null, limit: number): Promise<Operator[]>;
  /** Where a member reads of an alert, and what it names; null: the member has left, or has no verified address. */
  alertReader(account: string, member: string, subject: AlertSubject): Promise<AlertReader | null>;
  /** The session of one of the digests that began and was used after these times, epoch milliseconds. */
  findSession(digests: readonly string[], beganAfter: number, usedAfter: number): Promise<FoundSession | null>;
  /** Notes that a session was used, under this digest from now on. */
  noteSession(digest: string, current: string, nowMs: number): Promise<void>;
  /** Newest first, below an entry's number; null as a filter is every entry. */
  auditEntries(filter: AuditFilter): Promise<{ readonly number: bigint; readonly view: AuditEntryView }[]>;
}

/** Names of keys with whose they are, and addresses of members, of one account. */
export interface Names {
  readonly keys: readonly (Pick<ApiKey, 'id' | 'name' | 'kind' | 'member'> & { readonly email: string })[];
  readonly members: readonly { readonly id: string; readonly email: string }[];
}

/** A session with its person and where they are a member, in the order of coming; not of closed accounts. */
export interface FoundSession {
  readonly digest: string;
  readonly seenAt: number;
  readonly user: User;
  readonly memberships: readonly { readonly account: Account; readonly member: Member }[];
}

export interface AlertReader extends AlertNames {
  readonly email: string;
}

export interface Mail extends MailText {
  /** The same for every attempt to send it. */
  readonly id: string;
  readonly to: string;
}

export interface MailSender {
  /** `refused`: for good. Rejects when it may be taken later. */
  send(mail: Mail): Promise<'sent' | 'refused'>;
}

export interface AuditFilter {
  readonly account: string | null;
  readonly object: string | null;
  readonly kind: AuditKind | null;
  readonly below: bigint | null;
  readonly limit: number;
}

/** A request that carries an idempotency key. */
export interface IdempotentRequest {
  readonly operator: string;
  readonly idempotencyKey: string;
  readonly fingerprint: string;
}

export interface KeptRequest {
  readonly fingerprint: string;
  readonly command: string;
  /** Null: not answered yet. */
  readonly answer: { readonly status: number; readonly body: string } | null;
}

export interface IdempotencyStore {
  /** What is kept under the request's key since `keptSince`; the request itself with `command` when nothing is. */
  begin(request: IdempotentRequest, command: string, nowMs: number, keptSince: number): Promise<KeptRequest>;
  /** Keeps the first answer of the request that holds its key. */
  end(request: IdempotentRequest, status: number, body: string): Promise<void>;
  /** Deletes at most `limit` keys, and as many commands of rotations, from before these times; how many went. */
  forget(keysBefore: number, rotationsBefore: number, limit: number): Promise<number>;
}

/** Sessions of operators. Times are epoch milliseconds. */
export interface OperatorSessions {
  /** Ends the oldest ones of the holder above `keptMax`, this one counted. False: the operator is gone, or has expired. */
  create(session: NewOperatorSession, keptMax: number): Promise<boolean>;
  /**
   * The session of one of the digests that began and was used after these times, of an operator who is there, or of the deployment's
   * token with one of `rootDigests`.
   */
  find(asked: AskedOperatorSession): Promise<FoundOperatorSession | null>;
  /** Notes that it was used, under this digest from now on. */
  note(digest: string, current: string, nowMs: number): Promise<void>;
  end(digests: readonly string[]): Promise<void>;
}

export interface NewOperatorSession {
  readonly digest: string;
  readonly operator: string | null;
  readonly rootDigest: string | null;
  readonly nowMs: number;
}

export interface AskedOperatorSession {
  readonly digests: readonly string[];
  readonly rootDigests: readonly string[];
  readonly beganAfter: number;
  readonly usedAfter: number;
  readonly nowMs: number;
}

export interface FoundOperatorSession {
  readonly digest: string;
  readonly seenAt: number;
  /** Null: the holder of the deployment's own token. */
  readonly operator: Operator | null;
}

/** Of sessions, tokens and attempts. Times are epoch milliseconds. */
export interface SignInLeftovers {
  /** Deletes at most `limit` of each: sessions that began or were used before, tokens that expired, attempts that began. */
  forget(before: ForgottenBefore, limit: number): Promise<number>;
}

export interface ForgottenBefore {
  readonly sessionsBegan: number;
  readonly sessionsUsed: number;
  readonly operatorSessionsBegan: number;
  readonly operatorSessionsUsed: number;
  readonly tokensExpired: number;
  readonly attemptsBegan: number;
}

/** People who signed up and never verified their address. */
export interface SignUpLeftovers {
  /** Those of before this time (epoch milliseconds), oldest first, with the account of the sign-up. */
  unverified(before: number, limit: number): Promise<{ readonly user: string; readonly account: string }[]>;
  /** Deletes person and account; false: they stay, because something hangs on them or the address was verified meanwhile. */
  forget(user: string): Promise<boolean>;
  /** The sign-up is not looked at again. */
  keep(user: string): Promise<void>;
}

/** Billing, over the bus. */
export interface FundingSource {
  fundingOf(account: string): Promise<Funding>;
}

/** Billing, over the bus: ends an account's subscription, unless its wallet is not zero. */
export interface ClosingSource {
  closeAccount(account: string, actor: string): Promise<{ readonly closed: true } | ManagementRefusal>;
}

/** Waits until admission has this version of an object of the account; false when it takes too long. */
export type InForce = (account: string, changed: Versioned) => Promise<boolean>;

/** A new id of an object: time-ordered, without dashes. */
export type MakeId = (prefix: IdPrefix) => string;
