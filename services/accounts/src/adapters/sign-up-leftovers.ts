import { inTransaction, onPool, type Pool } from '@gateway/postgres';
import type { SignUpLeftovers } from '../ports.js';
import { written } from './written.js';

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
