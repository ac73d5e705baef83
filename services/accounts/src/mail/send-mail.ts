import { objectId, raisedAlert } from '@gateway/contracts/messages';
import { z } from 'zod';
import { composeAlertMail } from '../domain/alert-mail.js';
import type { AccountsStore } from '../ports.js';
import { nobodyToMail, trySending, type SendingPorts } from './try-sending.js';

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
