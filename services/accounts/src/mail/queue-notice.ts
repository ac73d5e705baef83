import type { RequestOrigin } from '@gateway/contracts/messages';
import { ATTEMPT_LIMITS, retryAfterSeconds } from '../base/attempt-rules.js';
import type { Notice } from './notice-rules.js';
import type { MailTx } from './store.js';

export interface NoticeFor {
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
  { notice, user, account = null, origin = null }: NoticeFor,
  nowMs: number,
): Promise<void> {
  const limit = ATTEMPT_LIMITS.mail;
  const counted = await tx.countAttempt(limit, `${notice}:${user ?? 'nobody'}`, nowMs);
  const isEnough = user !== null && retryAfterSeconds(limit, counted, nowMs) !== null;
  if (!isEnough) await tx.queueNotice({ notice, user, account, origin, queuedAt: nowMs });
}
