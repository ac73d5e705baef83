import { inTransaction, type Pool, onPool } from '@gateway/postgres';
import type { SignInLeftovers, SignUpLeftovers } from '../ports.js';
import { written } from '../rows.js';

/** Sessions, tokens, attempts and refused attempts in the log that say nothing any more. */
export function makeSignInLeftovers(pool: Pool): SignInLeftovers {
  return {
    async forget(before, limit) {
      const { sessionsBegan, sessionsUsed, operatorSessionsBegan, operatorSessionsUsed } = before;
      // In transactions for their repeats: replicas that delete the same rows may wait for each other.
      const forget = (text: string, ...times: number[]) =>
        inTransaction(pool, (tx) => tx.execute(text, [...times.map((time) => new Date(time)), limit]));
      const forgetRefused = (most: number) =>
        inTransaction(pool, async (tx) => (await written(tx.one<{ gone: number }>(REFUSED, [most]))).gone);
      const gone = [
        await forget(SESSIONS, sessionsBegan, sessionsUsed),
        await forget(OPERATOR_SESSIONS, operatorSessionsBegan, operatorSessionsUsed),
        await forget(TOKENS, before.tokensExpired),
        await forget(ATTEMPTS, before.attemptsBegan),
        await forgetRefused(limit),
      ];
      return gone.reduce((sum, count) => sum + count, 0);
    },
  };
}

/** An old session that is still used has one row; idle ones are found by the index. */
const SESSIONS = `DELETE FROM sessions WHERE digest IN (
    SELECT digest FROM sessions WHERE seen_at < $2 OR created_at < $1 ORDER BY seen_at LIMIT $3)`;
const OPERATOR_SESSIONS = `DELETE FROM operator_sessions WHERE digest IN (
    SELECT digest FROM operator_sessions WHERE seen_at < $2 OR created_at < $1 ORDER BY seen_at LIMIT $3)`;
const TOKENS = `DELETE FROM mail_tokens WHERE digest IN (
    SELECT digest FROM mail_tokens WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`;
const ATTEMPTS = `DELETE FROM attempts WHERE (kind, slot) IN (
    SELECT kind, slot FROM attempts WHERE began_at < $1 ORDER BY began_at LIMIT $2)`;
/** The function alone has the right, and knows how long they are kept. */
const REFUSED = 'SELECT forget_refused_attempts($1) AS gone';

/** Sign-ups that nobody verified. A function of the database decides what may go, and deletes it. */
export function makeSignUpLeftovers(pool: Pool): SignUpLeftovers {
  return {
    unverified: (before, limit) => onPool(pool).query(UNVERIFIED, [new Date(before), limit]),
    forget: (user) =>
      inTransaction(pool, async (tx) => {
        const { gone } = await written(tx.one<{ gone: boolean }>('SELECT forget_sign_up($1) AS gone', [user]));
        return gone;
      }),
    async keep(user) {
      await onPool(pool).execute('UPDATE users SET signed_up_at = NULL WHERE id = $1', [user]);
    },
  };
}

/** Everybody who signed up has an account of their own. */
const UNVERIFIED = `SELECT u.id AS user, (SELECT min(m.account) FROM members m WHERE m.user_id = u.id) AS account
  FROM users u WHERE u.signed_up_at < $1 AND NOT u.email_verified ORDER BY u.signed_up_at LIMIT $2`;
