import { inTransaction, onPool, type Pool } from '@gateway/postgres';
import { written } from '../base/sql.js';

/** Limits of a cleanup in epoch milliseconds. Rows that ended before them are deleted. */
export interface ExpiredBefore {
  readonly idempotencyKeys: number;
  readonly rotations: number;
  readonly sessionsBegan: number;
  readonly sessionsUsed: number;
  readonly operatorSessionsBegan: number;
  readonly operatorSessionsUsed: number;
  readonly tokensExpired: number;
  readonly attemptsBegan: number;
}

export type CleanupStore = ReturnType<typeof createCleanupStore>;

/** Creates the deletions of expired rows and unverified sign-ups. */
export function createCleanupStore(pool: Pool) {
  return {
    /**
     * Deletes at most `limit` rows of each kind: idempotency keys, rotation commands, sessions,
     * operator sessions, email tokens, attempts, and refused attempts in the log. Returns the
     * number of deleted rows.
     */
    async deleteExpired(before: ExpiredBefore, limit: number): Promise<number> {
      // Transactions are retried after a deadlock between replicas that delete the same rows.
      const remove = (text: string, ...times: number[]) =>
        inTransaction(pool, (tx) => tx.execute(text, [...times.map((time) => new Date(time)), limit]));
      return (
        (await remove(IDEMPOTENCY_KEYS, before.idempotencyKeys)) +
        (await remove(ROTATIONS, before.rotations)) +
        (await remove(SESSIONS, before.sessionsBegan, before.sessionsUsed)) +
        (await remove(OPERATOR_SESSIONS, before.operatorSessionsBegan, before.operatorSessionsUsed)) +
        (await remove(TOKENS, before.tokensExpired)) +
        (await remove(ATTEMPTS, before.attemptsBegan)) +
        (await inTransaction(pool, async (tx) => (await written(tx.one<{ gone: number }>(REFUSED, [limit]))).gone))
      );
    },
    /**
     * Returns people who signed up before this time (epoch milliseconds), have not verified their
     * address and have no valid link, oldest first.
     */
    unverifiedSignUps: (before: number, limit: number) =>
      onPool(pool).query<{ readonly user: string; readonly account: string }>(UNVERIFIED, [new Date(before), limit]),
    /**
     * Deletes user and account of a sign-up. Returns false if they are kept, because other rows
     * refer to them, the address was verified, or a link was sent in the meantime. A database
     * function decides that.
     */
    deleteSignUp: (user: string): Promise<boolean> =>
      inTransaction(pool, async (tx) => {
        const { gone } = await written(tx.one<{ gone: boolean }>('SELECT delete_sign_up($1) AS gone', [user]));
        return gone;
      }),
    /** Keeps a sign-up permanently. {@link unverifiedSignUps} does not return it again. */
    async keepSignUp(user: string): Promise<void> {
      await onPool(pool).execute('UPDATE users SET signed_up_at = NULL WHERE id = $1', [user]);
    },
  };
}

const IDEMPOTENCY_KEYS = `DELETE FROM idempotency_keys WHERE (operator, key) IN (
    SELECT operator, key FROM idempotency_keys WHERE created_at < $1
     ORDER BY created_at LIMIT $2)`;
const ROTATIONS = `DELETE FROM key_rotations WHERE command IN (
    SELECT command FROM key_rotations WHERE created_at < $1 ORDER BY created_at LIMIT $2)`;
/** Uses the index for idle sessions. Old sessions that are still used are few. */
const SESSIONS = `DELETE FROM sessions WHERE digest IN (
    SELECT digest FROM sessions WHERE seen_at < $2 OR created_at < $1 ORDER BY seen_at LIMIT $3)`;
const OPERATOR_SESSIONS = `DELETE FROM operator_sessions WHERE digest IN (
    SELECT digest FROM operator_sessions WHERE seen_at < $2 OR created_at < $1 ORDER BY seen_at LIMIT $3)`;
const TOKENS = `DELETE FROM mail_tokens WHERE digest IN (
    SELECT digest FROM mail_tokens WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`;
const ATTEMPTS = `DELETE FROM attempts WHERE (kind, slot) IN (
    SELECT kind, slot FROM attempts WHERE began_at < $1 ORDER BY began_at LIMIT $2)`;
/** Only this database function may delete them, and it has the retention time. */
const REFUSED = 'SELECT delete_refused_attempts($1) AS gone';
/** Every sign-up has its own account. */
const UNVERIFIED = `SELECT u.id AS user, (SELECT min(m.account) FROM members m WHERE m.user_id = u.id) AS account
  FROM users u WHERE u.signed_up_at < $1 AND NOT u.email_verified
   AND NOT EXISTS (SELECT FROM mail_tokens t WHERE t.user_id = u.id AND t.expires_at > now())
  ORDER BY u.signed_up_at LIMIT $2`;
