import type { RaisedAlert } from '@gateway/contracts/messages';
import type { AlertSubject } from '@gateway/contracts/operator';
import { enqueue, type Tx } from '@gateway/postgres';
import type { AuditOrigin } from '../objects.js';
import type { AlertNames } from './alert-mail-rules.js';
import type { Notice } from './notice-rules.js';

/** The outbox of mails: about alerts, about signing in, and sign-ups, which become one of the latter. */
export const MAIL_OUTBOX = 'mail_outbox';
export const NOTICE_TOPIC = 'notice';
export const SIGN_UP_TOPIC = 'sign_up';

export interface AlertReader extends AlertNames {
  readonly email: string;
}

export interface QueuedSignUp {
  readonly name: string;
  /** In lower case. */
  readonly email: string;
  readonly origin: AuditOrigin;
}

export interface QueuedNotice {
  readonly notice: Notice;
  /** Null: nobody is mailed, at the same cost. */
  readonly user: string | null;
  /** Of an invitation. */
  readonly account: string | null;
  readonly origin: AuditOrigin | null;
  /** Epoch milliseconds. */
  readonly queuedAt: number;
}

/** Reads for mails about alerts. */
export function createMailReads(queries: Tx) {
  return {
    /** Where a member reads of an alert, and what it names; null: the member has left, or has no verified address. */
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

/** Alerts and mails within one change. Mails are sent after the commit; `queued` is called for each. */
export function createMailWrites(tx: Tx, queued: () => void) {
  const queue = (topic: string, key: string, body: object): Promise<void> => {
    queued();
    return enqueue(tx, { topic, key, body: { ...body } }, MAIL_OUTBOX);
  };
  return {
    /** False: it was taken before. */
    async takeAlert({ id, account }: RaisedAlert): Promise<boolean> {
      const text = 'INSERT INTO mailed_alerts (alert, account) VALUES ($1, $2) ON CONFLICT DO NOTHING';
      return (await tx.execute(text, [id, account])) === 1;
    },
    /** Members with verified addresses who are to read of it: owner, admins, and the one whose cap or key it is. */
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
    queueMail: (member: string, alert: RaisedAlert) => queue('mail', `${alert.account}:${member}`, { member, alert }),
    queueSignUp: (signUp: QueuedSignUp) => queue(SIGN_UP_TOPIC, `sign_up:${signUp.email}`, signUp),
    queueNotice: (notice: QueuedNotice) => queue(NOTICE_TOPIC, `notice:${notice.user ?? 'nobody'}`, notice),
  };
}
