import { alertRaised, type AnswerBodyOf, type ReceivedOf } from '@gateway/contracts/messages';
import type { Handlers } from '../base/serve.js';
import type { MailStore } from './store.js';

/**
 * Queues the emails of an alert: to the owner, the admins, and the member whom the cap concerns, if
 * their addresses are verified. A repeated alert sends no email.
 */
export async function takeAlert(
  store: Pick<MailStore, 'change'>,
  alert: ReceivedOf<typeof alertRaised>,
): Promise<AnswerBodyOf<typeof alertRaised>> {
  await store.change(async (tx) => {
    // Ignores an account that does not exist.
    if (!(await tx.lockAccount(alert.account)) || !(await tx.takeAlert(alert))) return;
    for (const member of await tx.alertReaders(alert.account, alert.subject)) await tx.queueMail(member, alert);
  });
  return { taken: true };
}

/** Registers the handler of alerts from billing. */
export function serveAlerts({ change }: Handlers, store: MailStore): void {
  change(alertRaised, (body) => takeAlert(store, body));
}
