import type { Notice } from './mail/notice-rules.js';
import type { AuditOrigin } from './objects.js';
import { ATTEMPT_LIMITS, retryAfterSeconds, type AttemptLimit } from './sign-in/rules.js';
import type { AccountsTx } from './store.js';

export interface Throttled {
  readonly kind: 'throttled';
  readonly retryAfterSeconds: number;
}

/**
 * Counts an attempt under each limit in turn and stops at the first that is used up, so that a client that has to wait counts
 * against nobody's address. Callers name limits in one order: those of clients first, those of addresses last.
 */
export async function countAttempts(
  tx: Pick<AccountsTx, 'countAttempt'>,
  limits: readonly { readonly limit: AttemptLimit; readonly subject: string }[],
  nowMs: number,
): Promise<Throttled | null> {
  for (const { limit, subject } of limits) {
    const wait = retryAfterSeconds(limit, await tx.countAttempt(limit, subject, nowMs), nowMs);
    if (wait !== null) return { kind: 'throttled', retryAfterSeconds: wait };
  }
  return null;
}

export interface NoticeFor {
  readonly notice: Notice;
  readonly user: string | null;
  /** Of an invitation. */
  readonly account?: string | null;
  /** Where a stranger requested the mail: the log has it when the mail goes to a person. */
  readonly origin?: AuditOrigin | null;
}

/**
 * Queues a mail about signing in, unless its person had enough of this kind within the hour. No answer shows which: with `user`
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
