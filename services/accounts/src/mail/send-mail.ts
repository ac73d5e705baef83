import { objectId, raisedAlert } from '@gateway/contracts/messages';
import { z } from 'zod';
import { counter } from '@gateway/service-kit';
import { composeAlertMail } from './alert-mail-rules.js';
import type { MailStore } from './store.js';
import type { Mail, MailSender } from './sender.js';

export interface SendMailDeps extends SendingDeps {
  readonly store: Pick<MailStore, 'alertReader'>;
}

/** Body of an alert email in the outbox. */
const queuedMail = z.object({ member: objectId, alert: raisedAlert });

/** Sends one alert email, unless the member was deleted or has no verified address. */
export async function sendMail(deps: SendMailDeps, row: { readonly body: unknown }): Promise<void> {
  const { member, alert } = queuedMail.parse(row.body);
  const reader = await deps.store.alertReader(alert.account, member, alert.subject);
  if (reader === null) return countNoRecipient();
  const mail = { id: `${alert.id}.${member}`, to: reader.email, ...composeAlertMail(alert, reader) };
  await trySending(deps, mail, { alert: alert.id, member }, alert.raisedAt);
}

export interface SendingDeps {
  readonly sender: MailSender;
  readonly nowMs: () => number;
  readonly log: { warn(input: object, text: string): void };
}

/** Time after which a failed email is dropped, from the time of its request. */
export const RETRY_MAX_MS = 86_400_000;

const mails = counter('gateway_accounts_emails_total', 'Emails by outcome', {
  outcome: ['sent', 'refused', 'expired', 'no_recipient'],
});

/** Counts an email that has no recipient any more. */
export function countNoRecipient(): void {
  mails.of({ outcome: 'no_recipient' }).add();
}

/**
 * Tries once to send an email. Throws while the mail server is not available, so that the outbox
 * retries it for one day. A permanently rejected email is dropped. `names` identify the email in
 * the log without its address and text.
 */
export async function trySending(
  { sender, nowMs, log }: SendingDeps,
  mail: Mail,
  names: object,
  calledForAt: number,
): Promise<void> {
  try {
    const outcome = await sender.send(mail);
    mails.of({ outcome }).add();
    if (outcome === 'refused') log.warn(names, 'the mail server rejected an email');
  } catch (err) {
    if (nowMs() - calledForAt < RETRY_MAX_MS) throw err;
    mails.of({ outcome: 'expired' }).add();
    log.warn({ err, ...names }, 'an email was dropped after one day of failed attempts');
  }
}
