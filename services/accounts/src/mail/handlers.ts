import { alertRaised, type AnswerBodyOf, type ReceivedOf } from '@gateway/contracts/messages';
import type { Handlers } from '../base/serve.js';
import type { MailStore } from './store.js';

/**
 * Takes an alert that is to be mailed: to the owner and the admins of its account, and to the
 * member whom the cap concerns, as far as their addresses are verified. The same alert again mails
 * nothing.
 */
export async function takeAlert(
  store: Pick<MailStore, 'change'>,
  alert: ReceivedOf<typeof alertRaised>,
): Promise<AnswerBodyOf<typeof alertRaised>> {
  await store.change(async (tx) => {
    // An account that does not exist here has no readers.
    if (!(await tx.lockAccount(alert.account)) || !(await tx.takeAlert(alert))) return;
    for (const member of await tx.alertReaders(alert.account, alert.subject)) await tx.queueMail(member, alert);
  });
  return { taken: true };
}

/** Serves the alerts of billing. */
export function serveAlerts({ change }: Handlers, store: MailStore): void {
  change(alertRaised, (body) => takeAlert(store, body));
}
