import { ATTEMPT_LIMITS, retryAfterSeconds } from '../domain/attempt-limits.js';
import type { Notice } from '../domain/person-mail.js';
import type { AccountsTx, AuditOrigin } from '../tx-ports.js';

export interface NoticeFor {
  readonly notice: Notice;
  readonly user: string | null;
  /** Of an invitation. */
  readonly account?: string | null;
  /** Where the mail was asked for by somebody who is not known: the log has it when the mail goes to a person. */
  readonly origin?: AuditOrigin | null;
}

/**
 * Queues a mail about signing in, unless its person had enough of this kind within the hour. Nobody is told which: with `user`
 * null the same is done for nobody, so that an unknown address costs the same.
 */
export async function queueNotice(
  tx: Pick<AccountsTx, 'countAttempt' | 'queueNotice'>,
  { notice, user, account = null, origin = null }: NoticeFor,
  nowMs: number,
): Promise<void> {
  const limit = ATTEMPT_LIMITS.mail;
  const counted = await tx.countAttempt(limit, `${notice}:${user ?? 'nobody'}`, nowMs);
  const isEnough = user !== null && retryAfterSeconds(limit, counted, nowMs) !== null;
  if (!isEnough) await tx.queueNotice({ notice, user, account, origin, queuedAt: nowMs });
}
