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
import { changeOf, type Account, type Membership, type OwnedAccount, type Person, type Versioned } from './rules.js';
import {
  accountFromRow,
  MEMBERSHIP,
  membershipFromRow,
  OWNED_ACCOUNT,
  ownedAccountFromRow,
  personFromRow,
  written,
  type AccountRow,
  type JoinedRow,
  type PersonRow,
} from './sql.js';

/** Outbox messages that become an `admission.apply`. */
const APPLY_TOPIC = 'apply';
/** The outbox of caps and erasures for billing. */
export const BILLING_OUTBOX = 'billing_outbox';

/** What admission gets of a change. */
export interface ChangedRecords {
  readonly accounts?: AccountRecord[];
  readonly keys?: KeyRecord[];
  readonly members?: MemberRecord[];
}
type Caps = BodyOf<typeof billingApplyCaps>['caps'];

export interface AuditEntry {
  readonly author: EntryAuthor;
  readonly action: string;
  /** Null: the change concerns no account. */
  readonly account: string | null;
  readonly objectId: string;
  /** Without secrets and digests. */
  readonly before: object | null;
  readonly after: object | null;
  /** `change` when absent. */
  readonly kind?: AuditKind;
}

interface CountRow {
  readonly attempts: number;
  readonly began_at: Date;
}

export type BaseReads = ReturnType<typeof createBaseReads>;
/** The queries that every change may use. Features add theirs. */
export type BaseTx = ReturnType<typeof createBaseWrites>;
export interface Changes<FeatureTx> {
  /** Runs one change in one transaction. */
  change<T>(work: (tx: FeatureTx) => Promise<T>): Promise<T>;
}

/** Reads that several features need. */
export function createBaseReads(queries: Tx) {
  return {
    async account(id: string): Promise<OwnedAccount | null> {
      const row = await queries.one<JoinedRow>(`${OWNED_ACCOUNT} WHERE a.id = $1`, [id]);
      return row && ownedAccountFromRow(row);
    },
  };
}

/** Locks, audit log, attempts and outboxes within one change. Times are epoch milliseconds. */
export function createBaseWrites(tx: Tx) {
  return {
    /**
     * Locks the account until the end: changes of it, its members and its keys happen one after the
     * other.
     */
    async lockAccount(id: string): Promise<Account | null> {
      const row = await tx.one<AccountRow>('SELECT * FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [id]);
      return row && accountFromRow(row);
    },
    /**
     * Locks the user until the end: passwords, sessions and tokens of one person change one after
     * the other.
     */
    async lockPerson(id: string): Promise<Person | null> {
      const row = await tx.one<PersonRow>('SELECT * FROM users WHERE id = $1 FOR NO KEY UPDATE', [id]);
      return row && personFromRow(row);
    },
    /** The member of this account; null as id: its owner. One who left is no member any more. */
    async membership(account: string, member: string | null): Promise<Membership | null> {
      const [whose, values] = member === null ? ["m.role = 'owner'", [account]] : ['m.id = $2', [account, member]];
      const text = `${MEMBERSHIP} WHERE m.deleted_at IS NULL AND m.account = $1 AND ${whose}`;
      const row = await tx.one<JoinedRow>(text, values);
      return row && membershipFromRow(row);
    },
    async audit(entry: AuditEntry): Promise<void> {
      const { author, action, account, objectId, before, after, kind = 'change' } = entry;
      const { actor, origin } = author;
      const states = [before && JSON.stringify(before), after && JSON.stringify(after)];
      const place = [origin?.client, origin?.agent, origin?.requestId].map((part) => part ?? null);
      await tx.execute(INSERT, [actor, action, account, objectId, ...states, kind, ...place]);
    },
    /** Counts one more; a window that is over begins again. */
    async countAttempt(limit: AttemptLimit, subject: string, nowMs: number): Promise<CountedAttempts> {
      const values = [limit.kind, subject, new Date(nowMs), new Date(nowMs - limit.windowMs)];
      return countedFromRow(await written(tx.one<CountRow>(COUNT, values)));
    },
    /** What is counted now, without one more. */
    async attemptsOf(limit: AttemptLimit, subject: string, nowMs: number): Promise<CountedAttempts> {
      const text =
        'SELECT attempts, began_at FROM attempts WHERE kind = $1 AND slot = attempt_slot($1, $2) AND began_at > $3';
      const values = [limit.kind, subject, new Date(nowMs - limit.windowMs)];
      const row = await tx.one<CountRow>(text, values);
      return row ? countedFromRow(row) : { attempts: 0, beganAt: nowMs };
    },
    /** Takes one attempt back; there are never fewer than none. */
    async takeBackAttempt(limit: AttemptLimit, subject: string): Promise<void> {
      const text = `UPDATE attempts SET attempts = greatest(0, attempts - 1)
        WHERE kind = $1 AND slot = attempt_slot($1, $2)`;
      await tx.execute(text, [limit.kind, subject]);
    },
    /**
     * Nobody else works on this command until the end. For objects that have no account to lock
     * yet.
     */
    async lockCommand(command: string): Promise<void> {
      await tx.execute('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [command]);
    },
    /**
     * Admission gets the records after the commit; under the account's lock, so in the order of its
     * changes.
     */
    publishChange: (account: string, changed: Versioned, records: ChangedRecords): Promise<void> =>
      enqueue(tx, { topic: APPLY_TOPIC, key: account, body: { change: changeOf(changed), records } }),
    /** Billing gets the caps after the commit; nobody waits for it. */
    publishCaps: (account: string, caps: Caps): Promise<void> =>
      enqueue(tx, { topic: 'caps', key: account, body: { account, caps } }, BILLING_OUTBOX),
  };
}

const INSERT = `INSERT INTO audit_log
    (actor, action, account, object_id, before, after, kind, client, agent, request_id)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`;

/**
 * Subjects whose slot is one are counted together, which is rare, and errs on the side of waiting.
 */
const COUNT = `INSERT INTO attempts (kind, slot, attempts, began_at) VALUES ($1, attempt_slot($1, $2), 1, $3)
  ON CONFLICT (kind, slot) DO UPDATE
    SET attempts = CASE WHEN attempts.began_at <= $4 THEN 1 ELSE least(attempts.attempts, 1000000) + 1 END,
        began_at = CASE WHEN attempts.began_at <= $4 THEN $3 ELSE attempts.began_at END
  RETURNING attempts, began_at`;

function countedFromRow({ attempts, began_at }: CountRow): CountedAttempts {
  return { attempts, beganAt: began_at.getTime() };
}
