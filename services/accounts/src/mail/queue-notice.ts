import type { RequestOrigin } from '@gateway/contracts/messages';
import { ATTEMPT_LIMITS, retryAfterSeconds } from '../base/attempt-rules.js';
import type { Notice } from './notice-rules.js';
import type { MailTx } from './store.js';

export interface NoticeFor {
  readonly notice: Notice;
  readonly user: string | null;
  /** Of an invitation. */
  readonly account?: string | null;
  /** Where a stranger requested the mail: the log has it when the mail goes to a person. */
  readonly origin?: RequestOrigin | null;
}

/**
 * Queues a mail about signing in, unless its person had enough of this kind within the hour. No
 * answer shows which: with `user` null the same is done for nobody, so that an unknown address
 * costs the same.
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
