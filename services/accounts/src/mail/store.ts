import type {
  MailTokenKind,
  RaisedAlert,
  RequestOrigin,
  ReceivedOf,
  accountsSignUp,
} from '@gateway/contracts/messages';
import type { AlertSubject } from '@gateway/contracts/operator';
import { enqueue, type Tx } from '@gateway/postgres';
import type { BaseReads, BaseTx, Changes } from '../base/store.js';
import type { AlertNames } from './alert-mail-rules.js';
import type { Notice } from './notice-rules.js';

/** The queries of a transaction that sends emails. */
export type MailTx = BaseTx & ReturnType<typeof createMailWrites>;
export type MailStore = BaseReads & ReturnType<typeof createMailReads> & Changes<MailTx>;

/**
 * The email outbox: alert emails, sign-in emails, and sign-ups, which result in a sign-in email.
 */
export const MAIL_OUTBOX = 'mail_outbox';
export const NOTICE_TOPIC = 'notice';
export const SIGN_UP_TOPIC = 'sign_up';

export interface AlertReader extends AlertNames {
  readonly email: string;
}

export type QueuedSignUp = ReceivedOf<typeof accountsSignUp>;

export interface QueuedNotice {
  readonly notice: Notice;
  /** Null: no email is sent, at the same cost. */
  readonly user: string | null;
  /** Set for an invitation. */
  readonly account: string | null;
  readonly origin: RequestOrigin | null;
  /** Epoch milliseconds. */
  readonly queuedAt: number;
}

export interface NewMailToken {
  readonly digest: string;
  readonly user: string;
  readonly kind: MailTokenKind;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** Creates the reads for alert emails. */
export function createMailReads(queries: Tx) {
  return {
    /**
     * Returns a member's address and the names for an alert email. Null: the member was deleted, or
     * has no verified address.
     */
    async alertReader(account: string, member: string, subject: AlertSubject): Promise<AlertReader | null> {
      const key = subject.kind === 'key_cap' ? subject.keyId : null;
      const capped = subject.kind === 'member_cap' ? subject.memberId : null;
      const row = await queries.one<AlertReaderRow>(ALERT_READER, [account, member, key, capped]);
      return row && { email: row.email, accountName: row.name, keyName: row.key_name, cappedMember: row.capped };
    },
  };
}

interface AlertReaderRow {
  readonly email: string;
  readonly name: string;
  readonly key_name: string | null;
  readonly capped: string | null;
}

const ALERT_READER = `SELECT u.email, a.name, k.name AS key_name, cu.email AS capped
  FROM members m
  JOIN users u ON u.id = m.user_id
  JOIN accounts a ON a.id = m.account
  LEFT JOIN api_keys k ON k.account = a.id AND k.id = $3
  LEFT JOIN members c ON c.account = a.id AND c.id = $4
  LEFT JOIN users cu ON cu.id = c.user_id
 WHERE m.account = $1 AND m.id = $2 AND m.deleted_at IS NULL AND u.email_verified`;

/**
 * Creates the writes of alerts, emails and their tokens in one transaction. Emails are sent after
 * the commit. `queued` is called for each one.
 */
export function createMailWrites(tx: Tx, queued: () => void) {
  const queue = (topic: string, key: string, body: object): Promise<void> => {
    queued();
    return enqueue(tx, { topic, key, body: { ...body } }, MAIL_OUTBOX);
  };
  return {
    /** Returns false if the alert was already accepted. */
    async takeAlert({ id, account }: RaisedAlert): Promise<boolean> {
      const text = 'INSERT INTO emailed_alerts (alert, account) VALUES ($1, $2) ON CONFLICT DO NOTHING';
      return (await tx.execute(text, [id, account])) === 1;
    },
    /**
     * Returns the members who get an alert email: owner, admins, and the member with the cap or the
     * key, if their addresses are verified.
     */
    async alertReaders(account: string, subject: AlertSubject): Promise<string[]> {
      const text = `SELECT m.id FROM members m JOIN users u ON u.id = m.user_id
        WHERE m.account = $1 AND m.deleted_at IS NULL AND u.email_verified
          AND (m.role IN ('owner', 'admin') OR m.id = $2
            OR m.id = (SELECT k.member FROM api_keys k WHERE k.account = $1 AND k.id = $3))
        ORDER BY m.id`;
      const member = subject.kind === 'member_cap' ? subject.memberId : null;
      const key = subject.kind === 'key_cap' ? subject.keyId : null;
      return (await tx.query<{ id: string }>(text, [account, member, key])).map(({ id }) => id);
    },
    /** Inserts a token, and deletes the oldest ones of its kind above `keptMax`. */
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
    queueMail: (member: string, alert: RaisedAlert) => queue('mail', `${alert.account}:${member}`, { member, alert }),
    queueSignUp: (signUp: QueuedSignUp) => queue(SIGN_UP_TOPIC, `sign_up:${signUp.email}`, signUp),
    queueNotice: (notice: QueuedNotice) => queue(NOTICE_TOPIC, `notice:${notice.user ?? 'nobody'}`, notice),
  };
}
