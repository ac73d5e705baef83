import type { Tx } from '@gateway/postgres';
import type { PeopleTx } from '../tx-ports.js';
import {
  MEMBERSHIP,
  membershipFromRow,
  OWNED_ACCOUNT,
  ownedAccountFromRow,
  type JoinedRow,
  accountFromRow,
  memberFromRow,
  userFromRow,
  type AccountRow,
  type MemberRow,
  type UserRow,
  written,
} from '../rows.js';

/** Accounts, users and members. */
export function makePeopleTx(tx: Tx): PeopleTx {
  const membershipBy = async (condition: string, values: readonly unknown[]) => {
    const row = await tx.one<JoinedRow>(`${MEMBERSHIP} WHERE m.deleted_at IS NULL AND ${condition}`, values);
    return row && membershipFromRow(row);
  };
  return {
    async ensureUser({ id, email, signedUpAt = null }) {
      // Written even when nothing changes: the row is locked, and a user made meanwhile is seen.
      const text = `INSERT INTO users (id, email, email_verified, signed_up_at) VALUES ($1, $2, false, $3)
        ON CONFLICT (email) DO UPDATE SET email_verified = users.email_verified RETURNING *`;
      const values = [id, email, signedUpAt === null ? null : new Date(signedUpAt)];
      return userFromRow(await written(tx.one<UserRow>(text, values)));
    },
    async verifyUser(id) {
      await tx.execute('UPDATE users SET email_verified = true WHERE id = $1', [id]);
    },
    async insertAccount({ id, name, type, command }) {
      const text = 'INSERT INTO accounts (id, name, type, command) VALUES ($1, $2, $3, $4) RETURNING *';
      return accountFromRow(await written(tx.one<AccountRow>(text, [id, name, type, command])));
    },
    async accountOfCommand(command) {
      const row = await tx.one<JoinedRow>(`${OWNED_ACCOUNT} WHERE a.command = $1`, [command]);
      return row && ownedAccountFromRow(row);
    },
    async lockAccount(id) {
      const row = await tx.one<AccountRow>('SELECT * FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [id]);
      return row && accountFromRow(row);
    },
    async updateAccount({ id, state, version }) {
      await tx.execute('UPDATE accounts SET state = $2, version = $3 WHERE id = $1', [id, state, version]);
    },
    async insertMember({ id, account, user, role, capNanoUsd, command }) {
      const text = `INSERT INTO members (id, account, user_id, role, cap_nano_usd, command)
        VALUES ($1, $2, $3, $4, $5, $6) RETURNING *`;
      return memberFromRow(await written(tx.one<MemberRow>(text, [id, account, user, role, capNanoUsd, command])));
    },
    async memberOfCommand(command) {
      // Also one who left since: the command made this one, and makes no other.
      const row = await tx.one<JoinedRow>(`${MEMBERSHIP} WHERE m.command = $1`, [command]);
      return row && membershipFromRow(row);
    },
    membership: (account, member) =>
      member === null
        ? membershipBy("m.account = $1 AND m.role = 'owner'", [account])
        : membershipBy('m.account = $1 AND m.id = $2', [account, member]),
    async hasLeft(account, member) {
      const text = 'SELECT FROM members WHERE account = $1 AND id = $2 AND deleted_at IS NOT NULL';
      return (await tx.one(text, [account, member])) !== null;
    },
    memberWithEmail: (account, email) => membershipBy('m.account = $1 AND u.email = $2', [account, email]),
    async updateMember({ id, role, capNanoUsd, version }) {
      const text = 'UPDATE members SET role = $2, cap_nano_usd = $3, version = $4 WHERE id = $1';
      await tx.execute(text, [id, role, capNanoUsd, version]);
    },
    async eraseClosedAccount(id) {
      const text = 'SELECT erase_closed_account($1) AS entries';
      return Number((await written(tx.one<{ entries: bigint }>(text, [id]))).entries);
    },
    async deleteMember(id) {
      await tx.execute('UPDATE members SET deleted_at = now() WHERE id = $1', [id]);
    },
  };
}
