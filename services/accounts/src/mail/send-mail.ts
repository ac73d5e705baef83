import { objectId, raisedAlert } from '@gateway/contracts/messages';
import { counter } from '@gateway/service-kit';
import { z } from 'zod';
import { composeAlertMail } from '../domain/alert-mail.js';
import type { AccountsStore, MailSender } from '../ports.js';

export interface SendMailPorts {
  readonly store: Pick<AccountsStore, 'alertReader'>;
  readonly sender: MailSender;
  readonly nowMs: () => number;
  readonly log: { warn(facts: object, text: string): void };
}

/** A mail is given up when an attempt fails so long after its alert was raised. */
export const GIVEN_UP_MS = 86_400_000;

/** Body of a row of the outbox for mails. */
const queuedMail = z.object({ member: objectId, alert: raisedAlert });

const mails = counter('gateway_accounts_mails_total', 'Mails by what became of them', {
  outcome: ['sent', 'refused', 'given_up', 'nobody'],
});

/**
 * Sends one mail of the outbox. Throws while the mail server cannot be reached, so that it is tried again later, for a day; what
 * the server refuses for good is dropped. Somebody who has left, or whose address is not verified any more, gets none.
 */
export async function sendMail(
  { store, sender, nowMs, log }: SendMailPorts,
  row: { readonly body: unknown },
): Promise<void> {
  const { member, alert } = queuedMail.parse(row.body);
  const reader = await store.alertReader(alert.account, member, alert.subject);
  if (reader === null) return mails.of({ outcome: 'nobody' }).add();
  const mail = { id: `${alert.id}.${member}`, to: reader.email, ...composeAlertMail(alert, reader) };
  const names = { alert: alert.id, member };
  try {
    const outcome = await sender.send(mail);
    mails.of({ outcome }).add();
    if (outcome === 'refused') log.warn(names, 'the mail server refuses a mail');
  } catch (err) {
    if (nowMs() - alert.raisedAt < GIVEN_UP_MS) throw err;
    mails.of({ outcome: 'given_up' }).add();
    log.warn({ err, ...names }, 'a mail is given up');
  }
}
