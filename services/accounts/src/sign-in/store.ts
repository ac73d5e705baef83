import type { MailTokenKind } from '@gateway/contracts/messages';
import type { Tx } from '@gateway/postgres';
import type { AccountTx } from '../accounts/store.js';
import type { UserWithPassword } from '../base/rules.js';
import { foundSessionFromRows, PEOPLE, SESSION, type FoundSession, type Row } from '../base/sql.js';
import type { Changes } from '../base/store.js';

/** The queries of a sign-in transaction. */
export type SignInTx = AccountTx & ReturnType<typeof createSignInWrites>;
export type SignInStore = ReturnType<typeof createSessionReads> & Changes<SignInTx>;

/** Maximum number of accounts in a session. */
const MEMBERSHIPS_SHOWN_MAX = 200;

/** Creates the reads of sessions. Times are epoch milliseconds. */
export function createSessionReads(queries: Tx) {
  return {
    /** Finds the session of one of the digests that began and was used after these times. */
    async findSession(digests: readonly string[], beganAfter: number, usedAfter: number): Promise<FoundSession | null> {
      const values = [digests, new Date(beganAfter), new Date(usedAfter), MEMBERSHIPS_SHOWN_MAX];
      return foundSessionFromRows(await queries.query<Row>(SESSION, values, { name: 'find-session' }));
    },
    /** Records a use of the session and moves it to the digest `current`. */
    async touchSession(digest: string, current: string, nowMs: number): Promise<void> {
      // A concurrent request with the same cookie may have moved it already.
      const text = `UPDATE sessions SET digest = $2, seen_at = $3
        WHERE digest = $1 AND (digest = $2 OR NOT EXISTS (SELECT FROM sessions WHERE digest = $2))`;
      await queries.execute(text, [digest, current, new Date(nowMs)]);
    },
  };
}

/**
 * Creates the writes of passwords, sessions and email tokens in one transaction. Times are epoch
 * milliseconds.
 */
export function createSignInWrites(tx: Tx) {
  return {
    /** Returns the user of a lower-case address. */
    async personOfEmail(email: string): Promise<UserWithPassword | null> {
      const row = await tx.one<Row>('SELECT * FROM users WHERE email = $1', [email]);
      return row && PEOPLE.read(row);
    },
    /** A null hash removes the password. */
    async setPassword(user: string, passwordHash: string | null): Promise<void> {
      await tx.execute('UPDATE users SET password_hash = $2 WHERE id = $1', [user, passwordHash]);
    },
    /** Inserts a session, and deletes the oldest ones if the user has more than `keptMax`. */
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
    /** Returns the user with a session of one of the digests. */
    async userOfSession(digests: readonly string[]): Promise<string | null> {
      const text = 'SELECT user_id FROM sessions WHERE digest = ANY($1) LIMIT 1';
      return (await tx.one<{ user_id: string }>(text, [digests]))?.user_id ?? null;
    },
    /** Ends all sessions of the user except those with the digests `kept`. */
    async endSessions(user: string, kept: readonly string[]): Promise<void> {
      await tx.execute('DELETE FROM sessions WHERE user_id = $1 AND digest <> ALL($2)', [user, kept]);
    },
    async userOfMailToken(kind: MailTokenKind, digest: string, nowMs: number): Promise<string | null> {
      const text = 'SELECT user_id FROM mail_tokens WHERE digest = $1 AND kind = $2 AND expires_at > $3';
      return (await tx.one<{ user_id: string }>(text, [digest, kind, new Date(nowMs)]))?.user_id ?? null;
    },
    /** Deletes all tokens of the user of one kind. Null: of all kinds. */
    async deleteMailTokens(user: string, kind: MailTokenKind | null): Promise<void> {
      await tx.execute('DELETE FROM mail_tokens WHERE user_id = $1 AND ($2::text IS NULL OR kind = $2)', [user, kind]);
    },
  };
}
