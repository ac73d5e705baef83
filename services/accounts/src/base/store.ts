import type {
  AccountRecord,
  BodyOf,
  billingApplyCaps,
  EntryAuthor,
  KeyRecord,
  MemberRecord,
} from '@gateway/contracts/messages';
import type { AuditKind } from '@gateway/contracts/operator';
import { enqueue, type Tx } from '@gateway/postgres';
import type { AttemptLimit, CountedAttempts } from './attempt-rules.js';
import {
  changeOf,
  type Account,
  type Membership,
  type OwnedAccount,
  type UserWithPassword,
  type Versioned,
} from './rules.js';
import {
  ACCOUNTS,
  MEMBERSHIP,
  membershipFromRow,
  OWNED_ACCOUNT,
  ownedAccountFromRow,
  PEOPLE,
  written,
  type Row,
} from './sql.js';

/** Topic of outbox messages that are sent as `admission.apply`. */
const APPLY_TOPIC = 'apply';
/** The outbox of caps and erasures for billing. */
export const BILLING_OUTBOX = 'billing_outbox';

/** The changed records that admission receives. */
export interface ChangedRecords {
  readonly accounts?: AccountRecord[];
  readonly keys?: KeyRecord[];
  readonly members?: MemberRecord[];
}
type Caps = BodyOf<typeof billingApplyCaps>['caps'];

export interface AuditEntry {
  readonly author: EntryAuthor;
  readonly action: string;
  /** Null: the change does not concern an account. */
  readonly account: string | null;
  readonly objectId: string;
  /** Without secrets and digests. */
  readonly before: object | null;
  readonly after: object | null;
  /** Default: `change`. */
  readonly kind?: AuditKind;
}

interface CountRow {
  readonly attempts: number;
  readonly began_at: Date;
}

export type BaseReads = ReturnType<typeof createBaseReads>;
/** The queries that all transactions have. Features add their own. */
export type BaseTx = ReturnType<typeof createBaseWrites>;
export interface Changes<FeatureTx> {
  /** Runs one change in one transaction. */
  change<T>(work: (tx: FeatureTx) => Promise<T>): Promise<T>;
}

/** Creates the reads that several features use. */
export function createBaseReads(queries: Tx) {
  return {
    async account(id: string): Promise<OwnedAccount | null> {
      const row = await queries.one<Row>(`${OWNED_ACCOUNT} WHERE a.id = $1`, [id]);
      return row && ownedAccountFromRow(row);
    },
  };
}

/** Creates the writes of locks, audit log, attempts and outboxes. Times are epoch milliseconds. */
export function createBaseWrites(tx: Tx) {
  return {
    /**
     * Locks the account until the end of the transaction, so that changes of it, its members and
     * its keys are serialized.
     */
    async lockAccount(id: string): Promise<Account | null> {
      const row = await tx.one<Row>('SELECT * FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [id]);
      return row && ACCOUNTS.read(row);
    },
    /**
     * Locks the user until the end of the transaction, so that changes of the user's password,
     * sessions and tokens are serialized.
     */
    async lockPerson(id: string): Promise<UserWithPassword | null> {
      const row = await tx.one<Row>('SELECT * FROM users WHERE id = $1 FOR NO KEY UPDATE', [id]);
      return row && PEOPLE.read(row);
    },
    /** Returns a member, or the owner if `member` is null. Deleted members are not returned. */
    async membership(account: string, member: string | null): Promise<Membership | null> {
      const [whose, values] = member === null ? ["m.role = 'owner'", [account]] : ['m.id = $2', [account, member]];
      const text = `${MEMBERSHIP} WHERE m.deleted_at IS NULL AND m.account = $1 AND ${whose}`;
      const row = await tx.one<Row>(text, values);
      return row && membershipFromRow(row);
    },
    async audit(entry: AuditEntry): Promise<void> {
      const { author, action, account, objectId, before, after, kind = 'change' } = entry;
      const { actor, origin } = author;
      const states = [before && JSON.stringify(before), after && JSON.stringify(after)];
      const place = [origin?.client, origin?.agent, origin?.requestId].map((part) => part ?? null);
      await tx.execute(INSERT, [actor, action, account, objectId, ...states, kind, ...place]);
    },
    /** Counts one attempt. An expired window begins again. */
    async countAttempt(limit: AttemptLimit, subject: string, nowMs: number): Promise<CountedAttempts> {
      const values = [limit.kind, subject, new Date(nowMs), new Date(nowMs - limit.windowMs)];
      return countedFromRow(await written(tx.one<CountRow>(COUNT, values)));
    },
    /** Returns the current count without counting an attempt. */
    async attemptsOf(limit: AttemptLimit, subject: string, nowMs: number): Promise<CountedAttempts> {
      const text =
        'SELECT attempts, began_at FROM attempts WHERE kind = $1 AND slot = attempt_slot($1, $2) AND began_at > $3';
      const values = [limit.kind, subject, new Date(nowMs - limit.windowMs)];
      const row = await tx.one<CountRow>(text, values);
      return row ? countedFromRow(row) : { attempts: 0, beganAt: nowMs };
    },
    /** Subtracts one attempt, down to zero. */
    async takeBackAttempt(limit: AttemptLimit, subject: string): Promise<void> {
      const text = `UPDATE attempts SET attempts = greatest(0, attempts - 1)
        WHERE kind = $1 AND slot = attempt_slot($1, $2)`;
      await tx.execute(text, [limit.kind, subject]);
    },
    /** Locks a command until the end of the transaction, for objects without an account to lock. */
    async lockCommand(command: string): Promise<void> {
      await tx.execute('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [command]);
    },
    /**
     * Queues records for admission, to be sent after the commit. Requires the account's lock, so
     * that they are sent in the order of the account's changes.
     */
    publishChange: (account: string, changed: Versioned, records: ChangedRecords): Promise<void> =>
      enqueue(tx, { topic: APPLY_TOPIC, key: account, body: { change: changeOf(changed), records } }),
    /** Queues caps for billing, sent after the commit. The response does not wait for them. */
    publishCaps: (account: string, caps: Caps): Promise<void> =>
      enqueue(tx, { topic: 'caps', key: account, body: { account, caps } }, BILLING_OUTBOX),
  };
}

const INSERT = `INSERT INTO audit_log
    (actor, action, account, object_id, before, after, kind, client, agent, request_id)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`;

/** Subjects with the same slot are counted together. This is rare and only limits them earlier. */
const COUNT = `INSERT INTO attempts (kind, slot, attempts, began_at) VALUES ($1, attempt_slot($1, $2), 1, $3)
  ON CONFLICT (kind, slot) DO UPDATE
    SET attempts = CASE WHEN attempts.began_at <= $4 THEN 1 ELSE least(attempts.attempts, 1000000) + 1 END,
        began_at = CASE WHEN attempts.began_at <= $4 THEN $3 ELSE attempts.began_at END
  RETURNING attempts, began_at`;

function countedFromRow({ attempts, began_at }: CountRow): CountedAttempts {
  return { attempts, beganAt: began_at.getTime() };
}
