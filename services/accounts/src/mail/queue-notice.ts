import { type AnswerBodyOf, type ReceivedOf, type RequestOrigin, alertRaised } from '@gateway/contracts/messages';
import { ATTEMPT_LIMITS, retryAfterSeconds } from '../base/attempt-rules.js';
import type { Handlers } from '../base/serve.js';
import type { Notice } from './notice-rules.js';
import type { MailStore, MailTx } from './store.js';

export interface NoticeRequest {
  readonly notice: Notice;
  readonly user: string | null;
  /** Set for an invitation. */
  readonly account?: string | null;
  /** Origin of an unauthenticated request, which is logged if the email has a recipient. */
  readonly origin?: RequestOrigin | null;
}

/**
 * Queues a sign-in email, unless its user already got the maximum number of this kind within an
 * hour. The response does not reveal it. With a null `user` the same work is done without a
 * recipient, so that an unknown address takes the same time.
 */
export async function queueNotice(
  tx: Pick<MailTx, 'countAttempt' | 'queueNotice'>,
  { notice, user, account = null, origin = null }: NoticeRequest,
  nowMs: number,
): Promise<void> {
  const limit = ATTEMPT_LIMITS.mail;
  const counted = await tx.countAttempt(limit, `${notice}:${user ?? 'nobody'}`, nowMs);
  const isEnough = user !== null && retryAfterSeconds(limit, counted, nowMs) !== null;
  if (!isEnough) await tx.queueNotice({ notice, user, account, origin, queuedAt: nowMs });
}

/**
 * Queues the emails of an alert: to the owner, the admins, and the member whom the cap concerns, if
 * their addresses are verified. A repeated alert sends no email.
 */
export async function queueAlertEmails(
  store: Pick<MailStore, 'change'>,
  alert: ReceivedOf<typeof alertRaised>,
): Promise<AnswerBodyOf<typeof alertRaised>> {
  await store.change(async (tx) => {
    // Ignores an account that does not exist.
    if (!(await tx.lockAccount(alert.account)) || !(await tx.takeAlert(alert))) return;
    for (const member of await tx.alertReaders(alert.account, alert.subject)) await tx.queueMail(member, alert);
  });
  return { accepted: true };
}

/** Registers the handler of alerts from billing. */
export function serveAlerts({ change }: Handlers, store: MailStore): void {
  change(alertRaised, (body) => queueAlertEmails(store, body));
}
