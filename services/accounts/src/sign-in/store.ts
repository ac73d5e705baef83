import type { MailTokenKind } from '@gateway/contracts/messages';
import type { Tx } from '@gateway/postgres';
import type { AccountTx } from '../accounts/store.js';
import type { Person } from '../base/rules.js';
import {
  foundSessionFromRows,
  personFromRow,
  SESSION,
  type FoundSession,
  type JoinedRow,
  type PersonRow,
} from '../base/sql.js';
import type { Changes } from '../base/store.js';

/** The queries of a change of signing up and in. */
export type SignInTx = AccountTx & ReturnType<typeof createSignInWrites>;
export type SignInStore = ReturnType<typeof createSessionReads> & Changes<SignInTx>;

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

/** Passwords, sessions and tokens of mails within one change. Times are epoch milliseconds. */
export function createSignInWrites(tx: Tx) {
  return {
    /** The person of an address, in lower case. */
    async personOfEmail(email: string): Promise<Person | null> {
      const row = await tx.one<PersonRow>('SELECT * FROM users WHERE email = $1', [email]);
      return row && personFromRow(row);
    },
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
    async userOfMailToken(kind: MailTokenKind, digest: string, nowMs: number): Promise<string | null> {
      const text = 'SELECT user_id FROM mail_tokens WHERE digest = $1 AND kind = $2 AND expires_at > $3';
      return (await tx.one<{ user_id: string }>(text, [digest, kind, new Date(nowMs)]))?.user_id ?? null;
    },
    /** Deletes all tokens of the user; of one kind, or with null of every kind. */
    async deleteMailTokens(user: string, kind: MailTokenKind | null): Promise<void> {
      await tx.execute('DELETE FROM mail_tokens WHERE user_id = $1 AND ($2::text IS NULL OR kind = $2)', [user, kind]);
    },
  };
}
