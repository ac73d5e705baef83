import type { Tx } from '@gateway/postgres';
import type { Member, Membership, User } from '../base/rules.js';
import { MEMBERSHIP, MEMBERS, membershipFromRow, USERS, written, type Row } from '../base/sql.js';
import type { BaseReads, Changes } from '../base/store.js';
import type { KeyTx } from '../keys/store.js';
import type { MailTx } from '../mail/store.js';

/** The queries of a member transaction. */
export type PeopleTx = KeyTx & MailTx & ReturnType<typeof createPeopleWrites>;
export type PeopleStore = BaseReads & ReturnType<typeof createPeopleReads> & Changes<PeopleTx>;

/** Creates the reads of members. */
export function createPeopleReads(queries: Tx) {
  return {
    /** Lists members in the order of creation, after an ID. Null: from the first one. */
    async members(account: string, after: string | null, limit: number): Promise<Membership[]> {
      const text = `${MEMBERSHIP}
        WHERE m.account = $1 AND m.deleted_at IS NULL AND m.id > $2 ORDER BY m.id LIMIT $3`;
      return (await queries.query<Row>(text, [account, after ?? '', limit])).map(membershipFromRow);
    },
  };
}

/** A new user. `signedUpAt` (epoch milliseconds) is set for a sign-up without an invitation. */
export type NewUser = Pick<User, 'id' | 'email'> & { readonly signedUpAt?: number };
/** A new member. A `command` creates only one. */
export type NewMember = Omit<Member, 'version' | 'createdAt'> & { readonly command: string | null };

/** Creates the writes of users and members in one transaction. Deleted members are not returned. */
export function createPeopleWrites(tx: Tx) {
  const verifyUser = async (id: string): Promise<void> => {
    await tx.execute('UPDATE users SET email_verified = true WHERE id = $1', [id]);
  };
  /**
   * Returns the user of a lower-case address, locked. Creates one with an unverified address if
   * there is none. Repeating an unverified sign-up updates its time.
   */
  const ensureUser = async ({ id, email, signedUpAt }: NewUser): Promise<User> => {
    // The update locks the row even if nothing changes, and finds a user created concurrently.
    const text = `INSERT INTO users (id, email, email_verified, signed_up_at) VALUES ($1, $2, false, $3)
        ON CONFLICT (email) DO UPDATE SET email_verified = users.email_verified,
          signed_up_at = CASE WHEN users.signed_up_at IS NULL OR users.email_verified THEN users.signed_up_at
                              ELSE coalesce(excluded.signed_up_at, users.signed_up_at) END
        RETURNING *`;
    const values = [id, email, signedUpAt === undefined ? null : new Date(signedUpAt)];
    return USERS.read(await written(tx.one<Row>(text, values)));
  };
  return {
    verifyUser,
    ensureUser,
    /**
     * Returns the user with this email address, for an account that an operator or a team creates.
     * If someone else has signed up with the address, they get no access: until the address is
     * verified the user has no password or session, and only a reader of its emails can verify it.
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
      return MEMBERS.read(await written(tx.one<Row>(text, [id, account, user, role, capNanoUsd, command])));
    },
    async memberOfCommand(command: string): Promise<Membership | null> {
      // Includes deleted members, because the command created this one and must not create another.
      const row = await tx.one<Row>(`${MEMBERSHIP} WHERE m.command = $1`, [command]);
      return row && membershipFromRow(row);
    },
    /** Whether the member belonged to this account and was deleted. */
    async hasLeft(account: string, member: string): Promise<boolean> {
      const text = 'SELECT FROM members WHERE account = $1 AND id = $2 AND deleted_at IS NOT NULL';
      return (await tx.one(text, [account, member])) !== null;
    },
    /** Returns the member with this lower-case address. */
    async memberWithEmail(account: string, email: string): Promise<Membership | null> {
      const text = `${MEMBERSHIP} WHERE m.deleted_at IS NULL AND m.account = $1 AND u.email = $2`;
      const row = await tx.one<Row>(text, [account, email]);
      return row && membershipFromRow(row);
    },
    async updateMember({ id, role, capNanoUsd, version }: Member): Promise<void> {
      const text = 'UPDATE members SET role = $2, cap_nano_usd = $3, version = $4 WHERE id = $1';
      await tx.execute(text, [id, role, capNanoUsd, version]);
    },
    async deleteMember(id: string): Promise<void> {
      await tx.execute('UPDATE members SET deleted_at = now() WHERE id = $1', [id]);
    },
  };
}
