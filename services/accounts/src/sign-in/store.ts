import type { MailTokenKind } from '@gateway/contracts/messages';
import type { Tx } from '@gateway/postgres';
import type { Person } from '../objects.js';
import {
  foundSessionFromRows,
  SESSION,
  userFromRow,
  written,
  type FoundSession,
  type JoinedRow,
  type UserRow,
} from '../rows.js';
import type { AttemptLimit, CountedAttempts } from './rules.js';

/** Accounts of one person in the menu of a session. */
const MEMBERSHIPS_SHOWN_MAX = 200;

/** Sessions of people. Times are epoch milliseconds. */
export function createSessionReads(queries: Tx) {
  return {
    /** The session of one of the digests that began and was used after these times. */
    async findSession(digests: readonly string[], beganAfter: number, usedAfter: number): Promise<FoundSession | null> {
      const values = [digests, new Date(beganAfter), new Date(usedAfter), MEMBERSHIPS_SHOWN_MAX];
      return foundSessionFromRows(await queries.query<JoinedRow>(SESSION, values, { name: 'find-session' }));
    },
    /** Records that the session was used, under the digest `current` from now on. */
    async touchSession(digest: string, current: string, nowMs: number): Promise<void> {
      // Another request with the same cookie may have put it under the current digest already.
      const text = `UPDATE sessions SET digest = $2, seen_at = $3
        WHERE digest = $1 AND (digest = $2 OR NOT EXISTS (SELECT FROM sessions WHERE digest = $2))`;
      await queries.execute(text, [digest, current, new Date(nowMs)]);
    },
  };
}

type PersonRow = UserRow & { readonly password_hash: string | null };
interface CountRow {
  readonly attempts: number;
  readonly began_at: Date;
}

export interface NewMailToken {
  readonly digest: string;
  readonly user: string;
  readonly kind: MailTokenKind;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** Passwords, sessions, tokens of mails and attempts within one change. Times are epoch milliseconds. */
export function createSignInWrites(tx: Tx) {
  const person = async (text: string, value: string): Promise<Person | null> => {
    const row = await tx.one<PersonRow>(text, [value]);
    return row && { ...userFromRow(row), passwordHash: row.password_hash };
  };
  return {
    /** The person of an address, in lower case. */
    personOfEmail: (email: string) => person('SELECT * FROM users WHERE email = $1', email),
    /** Locks the user until the end: passwords, sessions and tokens of one person change one after the other. */
    lockPerson: (id: string) => person('SELECT * FROM users WHERE id = $1 FOR NO KEY UPDATE', id),
    /** A null hash removes the password. */
    async setPassword(user: string, passwordHash: string | null): Promise<void> {
      await tx.execute('UPDATE users SET password_hash = $2 WHERE id = $1', [user, passwordHash]);
    },
    /** Ends the oldest ones above `keptMax`, this one counted. */
    async insertSession(session: { digest: string; user: string; nowMs: number }, keptMax: number): Promise<void> {
      const { digest, user, nowMs } = session;
      const text = 'INSERT INTO sessions (digest, user_id, created_at, seen_at) VALUES ($1, $2, $3, $3)';
      await tx.execute(text, [digest, user, new Date(nowMs)]);
      const surplus = `DELETE FROM sessions WHERE digest IN (
          SELECT digest FROM sessions WHERE user_id = $1 AND digest <> $2 ORDER BY created_at DESC, digest OFFSET $3)`;
      await tx.execute(surplus, [user, digest, keptMax - 1]);
    },
    async endSession(digests: readonly string[]): Promise<void> {
      await tx.execute('DELETE FROM sessions WHERE digest = ANY($1)', [digests]);
    },
    /** The one who has a session with one of the digests. */
    async userOfSession(digests: readonly string[]): Promise<string | null> {
      const text = 'SELECT user_id FROM sessions WHERE digest = ANY($1) LIMIT 1';
      return (await tx.one<{ user_id: string }>(text, [digests]))?.user_id ?? null;
    },
    /** Ends all sessions of the user but those with the digests `kept`. */
    async endSessions(user: string, kept: readonly string[]): Promise<void> {
      await tx.execute('DELETE FROM sessions WHERE user_id = $1 AND digest <> ALL($2)', [user, kept]);
    },
    /** Deletes the oldest tokens of the same kind above `keptMax`, this one counted. */
    async insertMailToken(token: NewMailToken, keptMax: number): Promise<void> {
      const { digest, user, kind, createdAt, expiresAt } = token;
      const text =
        'INSERT INTO mail_tokens (digest, user_id, kind, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)';
      await tx.execute(text, [digest, user, kind, new Date(createdAt), new Date(expiresAt)]);
      const surplus = `DELETE FROM mail_tokens WHERE digest IN (
          SELECT digest FROM mail_tokens WHERE user_id = $1 AND kind = $2 AND digest <> $3
           ORDER BY created_at DESC, digest OFFSET $4)`;
      await tx.execute(surplus, [user, kind, digest, keptMax - 1]);
    },
    async userOfMailToken(kind: MailTokenKind, digest: string, nowMs: number): Promise<string | null> {
      const text = 'SELECT user_id FROM mail_tokens WHERE digest = $1 AND kind = $2 AND expires_at > $3';
      return (await tx.one<{ user_id: string }>(text, [digest, kind, new Date(nowMs)]))?.user_id ?? null;
    },
    /** Deletes all tokens of the user; of one kind, or with null of every kind. */
    async deleteMailTokens(user: string, kind: MailTokenKind | null): Promise<void> {
      await tx.execute('DELETE FROM mail_tokens WHERE user_id = $1 AND ($2::text IS NULL OR kind = $2)', [user, kind]);
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
  };
}

/** Subjects whose slot is one are counted together, which is rare, and errs on the side of waiting. */
const COUNT = `INSERT INTO attempts (kind, slot, attempts, began_at) VALUES ($1, attempt_slot($1, $2), 1, $3)
  ON CONFLICT (kind, slot) DO UPDATE
    SET attempts = CASE WHEN attempts.began_at <= $4 THEN 1 ELSE least(attempts.attempts, 1000000) + 1 END,
        began_at = CASE WHEN attempts.began_at <= $4 THEN $3 ELSE attempts.began_at END
  RETURNING attempts, began_at`;

function countedFromRow({ attempts, began_at }: CountRow): CountedAttempts {
  return { attempts, beganAt: began_at.getTime() };
}
