import { enqueue, type Tx } from '@gateway/postgres';
import type { MailTx } from '../tx-ports.js';

/** Alerts and what billing is told. */
export function makeMailTx(tx: Tx, queued: () => void): MailTx {
  return {
    async takeAlert({ id, account }) {
      const text = 'INSERT INTO mailed_alerts (alert, account) VALUES ($1, $2) ON CONFLICT DO NOTHING';
      return (await tx.execute(text, [id, account])) === 1;
    },
    async alertReaders(account, subject) {
      const text = `SELECT m.id FROM members m JOIN users u ON u.id = m.user_id
        WHERE m.account = $1 AND m.deleted_at IS NULL AND u.email_verified
          AND (m.role IN ('owner', 'admin') OR m.id = $2
            OR m.id = (SELECT k.member FROM api_keys k WHERE k.account = $1 AND k.id = $3))
        ORDER BY m.id`;
      const member = subject.kind === 'member_cap' ? subject.memberId : null;
      const key = subject.kind === 'key_cap' ? subject.keyId : null;
      return (await tx.query<{ id: string }>(text, [account, member, key])).map(({ id }) => id);
    },
    queueMail(member, alert) {
      queued();
      return enqueue(tx, { topic: 'mail', key: `${alert.account}:${member}`, body: { member, alert } }, MAIL_OUTBOX);
    },
    tellBilling: (account, caps) =>
      enqueue(tx, { topic: 'caps', key: account, body: { account, caps } }, BILLING_OUTBOX),
  };
}

/** Outboxes beside that of changes which wait for admission. */
export const MAIL_OUTBOX = 'mail_outbox';
export const BILLING_OUTBOX = 'billing_outbox';

/** Mails about signing in, in the outbox of mails beside those about alerts. */
export const NOTICE_TOPIC = 'notice';
/** Sign-ups, which become one of those mails. */
export const SIGN_UP_TOPIC = 'sign_up';
