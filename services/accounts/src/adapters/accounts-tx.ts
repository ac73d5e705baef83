import type { Tx } from '@gateway/postgres';
import type { AccountsTx } from '../ports.js';
import { accountFromRow, keyFromRow, memberFromRow, userFromRow } from './rows.js';
import type { AccountRow, KeyRow, MemberRow, UserRow } from './rows.js';

/** Queries of one change. */
export function makeAccountsTx(tx: Tx): AccountsTx {
  return {
    async ensureUser({ id, email, emailVerified }) {
      // Written even when nothing changes: the row is locked, and a user made meanwhile is seen.
      const text = `INSERT INTO users (id, email, email_verified) VALUES ($1, $2, $3)
        ON CONFLICT (email) DO UPDATE SET email_verified = users.email_verified OR EXCLUDED.email_verified
        RETURNING *`;
      return userFromRow(await written(tx.one<UserRow>(text, [id, email, emailVerified])));
    },
    async insertAccount({ id, name, type }) {
      const text = 'INSERT INTO accounts (id, name, type) VALUES ($1, $2, $3) RETURNING *';
      return accountFromRow(await written(tx.one<AccountRow>(text, [id, name, type])));
    },
    async insertMember({ id, account, user, role, capNanoUsd }) {
      const text = `INSERT INTO members (id, account, user_id, role, cap_nano_usd)
        VALUES ($1, $2, $3, $4, $5) RETURNING *`;
      return memberFromRow(await written(tx.one<MemberRow>(text, [id, account, user, role, capNanoUsd])));
    },
    async lockAccount(id) {
      const row = await tx.one<AccountRow>('SELECT * FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [id]);
      return row && accountFromRow(row);
    },
    async membership(account, member) {
      const condition = member === null ? "role = 'owner'" : 'id = $2';
      const values = member === null ? [account] : [account, member];
      const row = await tx.one<MemberRow>(`SELECT * FROM members WHERE account = $1 AND ${condition}`, values);
      if (!row) return null;
      const user = await written(tx.one<UserRow>('SELECT * FROM users WHERE id = $1', [row.user_id]));
      return { member: memberFromRow(row), user: userFromRow(user) };
    },
    async countActiveKeys(account, nowMs) {
      const text = `SELECT count(*)::int AS n FROM api_keys
        WHERE account = $1 AND kind = 'api' AND state IN ('active', 'suspended')
          AND (expires_at IS NULL OR expires_at > $2)`;
      return (await tx.one<{ n: number }>(text, [account, new Date(nowMs)]))?.n ?? 0;
    },
    async insertKey(key) {
      const text = `INSERT INTO api_keys
          (id, account, member, kind, name, digest, masked_secret, expires_at, cap_nano_usd, allowed_models)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        ON CONFLICT (digest) DO NOTHING RETURNING *`;
      const row = await tx.one<KeyRow>(text, [
        key.id,
        key.account,
        key.member,
        key.kind,
        key.name,
        key.digest,
        key.maskedSecret,
        key.expiresAt === null ? null : new Date(key.expiresAt),
        key.capNanoUsd,
        key.allowedModels,
      ]);
      return row && keyFromRow(row);
    },
    async audit({ actor, action, account, objectId, before, after }) {
      await tx.execute(
        'INSERT INTO audit_log (actor, action, account, object_id, before, after) VALUES ($1, $2, $3, $4, $5, $6)',
        [actor, action, account, objectId, before && JSON.stringify(before), after && JSON.stringify(after)],
      );
    },
  };
}

async function written<R>(row: Promise<R | null>): Promise<R> {
  const found = await row;
  if (found === null) throw new Error('a row that must be there is missing');
  return found;
}
