import type { OutboxRow } from '@gateway/postgres';
import { NOTICE_TOPIC, SIGN_UP_TOPIC } from '../domain/mail-topics.js';
import { takeSignUp, type SignUpPorts } from '../sign-in/take-sign-up.js';
import { sendMail, type SendMailPorts } from './send-mail.js';
import { sendNotice, type SendNoticePorts } from './send-notice.js';

/** What the outbox of mails holds: alerts, mails about signing in, and sign-ups, which become one of those. */
export function deliverMail(ports: SendMailPorts & SendNoticePorts & SignUpPorts, row: OutboxRow): Promise<void> {
  switch (row.topic) {
    case SIGN_UP_TOPIC:
      return takeSignUp(ports, row);
    case NOTICE_TOPIC:
      return sendNotice(ports, row);
    default:
      return sendMail(ports, row);
  }
}
