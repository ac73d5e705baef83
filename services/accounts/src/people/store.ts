import type { Tx } from '@gateway/postgres';
import type { Member, Membership, User } from '../base/rules.js';
import {
  MEMBERSHIP,
  memberFromRow,
  membershipFromRow,
  userFromRow,
  written,
  type JoinedRow,
  type MemberRow,
  type UserRow,
} from '../base/sql.js';
import type { BaseReads, Changes } from '../base/store.js';
import type { KeyTx } from '../keys/store.js';
import type { MailTx } from '../mail/store.js';

/** The queries of a change of members. */
export type PeopleTx = KeyTx & MailTx & ReturnType<typeof createPeopleWrites>;
export type PeopleStore = BaseReads & ReturnType<typeof createPeopleReads> & Changes<PeopleTx>;

/** Reads of members. */
export function createPeopleReads(queries: Tx) {
  return {
    /** In the order of creation, after an id; null: from the first one. */
    async members(account: string, after: string | null, limit: number): Promise<Membership[]> {
      const text = `${MEMBERSHIP}
        WHERE m.account = $1 AND m.deleted_at IS NULL AND m.id > $2 ORDER BY m.id LIMIT $3`;
      return (await queries.query<JoinedRow>(text, [account, after ?? '', limit])).map(membershipFromRow);
    },
  };
}

/** `signedUpAt` (epoch milliseconds) belongs to a person who signed up without an invitation. */
export type NewUser = Pick<User, 'id' | 'email'> & { readonly signedUpAt?: number };
/** A command, where there is one, makes one object only. */
export type NewMember = Omit<Member, 'version' | 'createdAt'> & { readonly command: string | null };

/** Users and members within one change. A member who left is no member any more. */
export function createPeopleWrites(tx: Tx) {
  const verifyUser = async (id: string): Promise<void> => {
    await tx.execute('UPDATE users SET email_verified = true WHERE id = $1', [id]);
  };
  /**
   * The user of an address in lower case, locked; created without a verified address if there is
   * none. A sign-up that nobody verified, made again, counts as made now.
   */
  const ensureUser = async ({ id, email, signedUpAt }: NewUser): Promise<User> => {
    // Written even when nothing changes: the row is locked, and a user created meanwhile is seen.
    const text = `INSERT INTO users (id, email, email_verified, signed_up_at) VALUES ($1, $2, false, $3)
        ON CONFLICT (email) DO UPDATE SET email_verified = users.email_verified,
          signed_up_at = CASE WHEN users.signed_up_at IS NULL OR users.email_verified THEN users.signed_up_at
                              ELSE coalesce(excluded.signed_up_at, users.signed_up_at) END
        RETURNING *`;
    const values = [id, email, signedUpAt === undefined ? null : new Date(signedUpAt)];
    return userFromRow(await written(tx.one<UserRow>(text, values)));
  };
  return {
    verifyUser,
    ensureUser,
    /**
     * The user of an address, for an account that somebody else gives or opens to them. A stranger
     * may have signed up with the address, but has neither password nor session before it is
     * verified: only who reads the mails of the address gets in.
     */
    async ensureInvitedUser({ id, email, emailVerified }: User): Promise<User> {
      const user = await ensureUser({ id, email });
      if (user.emailVerified || !emailVerified) return user;
      await verifyUser(user.id);
      return { ...user, emailVerified: true };
    },
    async insertMember({ id, account, user, role, capNanoUsd, command }: NewMember): Promise<Member> {
      const text = `INSERT INTO members (id, account, user_id, role, cap_nano_usd, command)
        VALUES ($1, $2, $3, $4, $5, $6) RETURNING *`;
      return memberFromRow(await written(tx.one<MemberRow>(text, [id, account, user, role, capNanoUsd, command])));
    },
    async memberOfCommand(command: string): Promise<Membership | null> {
      // Also one who left since: the command made this one, and makes no other.
      const row = await tx.one<JoinedRow>(`${MEMBERSHIP} WHERE m.command = $1`, [command]);
      return row && membershipFromRow(row);
    },
    /** Whether the member was one of this account and left. */
    async hasLeft(account: string, member: string): Promise<boolean> {
      const text = 'SELECT FROM members WHERE account = $1 AND id = $2 AND deleted_at IS NOT NULL';
      return (await tx.one(text, [account, member])) !== null;
    },
    /** The member with this address, in lower case. */
    async memberWithEmail(account: string, email: string): Promise<Membership | null> {
      const text = `${MEMBERSHIP} WHERE m.deleted_at IS NULL AND m.account = $1 AND u.email = $2`;
      const row = await tx.one<JoinedRow>(text, [account, email]);
      return row && membershipFromRow(row);
    },
    /** Writes role, cap and version. */
    async updateMember({ id, role, capNanoUsd, version }: Member): Promise<void> {
      const text = 'UPDATE members SET role = $2, cap_nano_usd = $3, version = $4 WHERE id = $1';
      await tx.execute(text, [id, role, capNanoUsd, version]);
    },
    async deleteMember(id: string): Promise<void> {
      await tx.execute('UPDATE members SET deleted_at = now() WHERE id = $1', [id]);
    },
  };
}
