import { objectId, raisedAlert } from '@gateway/contracts/messages';
import { z } from 'zod';
import { counter } from '@gateway/service-kit';
import { composeAlertMail } from './alert-mail-rules.js';
import type { MailStore } from './store.js';
import type { Mail, MailSender } from './sender.js';

export interface SendMailDeps extends SendingDeps {
  readonly store: Pick<MailStore, 'alertReader'>;
}

/** Body of a row of the outbox for mails. */
const queuedMail = z.object({ member: objectId, alert: raisedAlert });

/**
 * Sends one mail about an alert. Somebody who has left, or whose address is not verified any more,
 * gets none.
 */
export async function sendMail(deps: SendMailDeps, row: { readonly body: unknown }): Promise<void> {
  const { member, alert } = queuedMail.parse(row.body);
  const reader = await deps.store.alertReader(alert.account, member, alert.subject);
  if (reader === null) return nobodyToMail();
  const mail = { id: `${alert.id}.${member}`, to: reader.email, ...composeAlertMail(alert, reader) };
  await trySending(deps, mail, { alert: alert.id, member }, alert.raisedAt);
}

export interface SendingDeps {
  readonly sender: MailSender;
  readonly nowMs: () => number;
  readonly log: { warn(input: object, text: string): void };
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
 * One attempt to send a mail. Throws while the mail server cannot be reached, so that it is tried
 * again later, for a day; what the server refuses for good is dropped. `names` identify the mail in
 * the log, without address and text.
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
    if (outcome === 'refused') log.warn(names, 'the mail server refuses a mail');
  } catch (err) {
    if (nowMs() - calledForAt < GIVEN_UP_MS) throw err;
    mails.of({ outcome: 'given_up' }).add();
    log.warn({ err, ...names }, 'a mail is given up');
  }
}
