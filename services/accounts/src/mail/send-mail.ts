import { objectId, raisedAlert } from '@gateway/contracts/messages';
import { z } from 'zod';
import { counter } from '@gateway/service-kit';
import { composeAlertMail } from './alert-mail-rules.js';
import type { AccountsStore, Mail, MailSender } from '../ports.js';

export interface SendMailPorts extends SendingPorts {
  readonly store: Pick<AccountsStore, 'alertReader'>;
}

/** Body of a row of the outbox for mails. */
const queuedMail = z.object({ member: objectId, alert: raisedAlert });

/** Sends one mail about an alert. Somebody who has left, or whose address is not verified any more, gets none. */
export async function sendMail(ports: SendMailPorts, row: { readonly body: unknown }): Promise<void> {
  const { member, alert } = queuedMail.parse(row.body);
  const reader = await ports.store.alertReader(alert.account, member, alert.subject);
  if (reader === null) return nobodyToMail();
  const mail = { id: `${alert.id}.${member}`, to: reader.email, ...composeAlertMail(alert, reader) };
  await trySending(ports, mail, { alert: alert.id, member }, alert.raisedAt);
}

export interface SendingPorts {
  readonly sender: MailSender;
  readonly nowMs: () => number;
  readonly log: { warn(facts: object, text: string): void };
}

/** A mail is given up when an attempt fails so long after it was called for. */
export const GIVEN_UP_MS = 86_400_000;

const mails = counter('gateway_accounts_mails_total', 'Mails by what became of them', {
  outcome: ['sent', 'refused', 'given_up', 'nobody'],
});

/** There is nobody any more who is to have the mail. */
export function nobodyToMail(): void {
  mails.of({ outcome: 'nobody' }).add();
}

/**
 * One attempt to send a mail. Throws while the mail server cannot be reached, so that it is tried again later, for a day; what the
 * server refuses for good is dropped. `names` tell in the log which mail it was, without address and text.
 */
export async function trySending(
  { sender, nowMs, log }: SendingPorts,
  mail: Mail,
  names: object,
  calledForAt: number,
): Promise<void> {
  try {
    const outcome = await sender.send(mail);
    mails.of({ outcome }).add();
    if (outcome === 'refused') log.warn(names, 'the mail server refuses a mail');
  } catch (err) {
    if (nowMs() - calledForAt < GIVEN_UP_MS) throw err;
    mails.of({ outcome: 'given_up' }).add();
    log.warn({ err, ...names }, 'a mail is given up');
  }
}
