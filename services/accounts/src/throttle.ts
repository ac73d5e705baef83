import type { AccountsTx, AuditOrigin } from './tx-ports.js';
import type { Notice } from './mail/notice-rules.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** How often something may be tried in a window that opens with the first try. */
export interface AttemptLimit {
  readonly kind: string;
  readonly attemptsMax: number;
  readonly windowMs: number;
}

/**
 * Limits on guessing and on mails. Those of an address alone are wide, so that nobody can lock somebody else out from one
 * client; those of a client are wide, because offices share one.
 */
export const ATTEMPT_LIMITS = {
  /** Wrong passwords for one address from one client. */
  signInPair: { kind: 'sign_in_pair', attemptsMax: 10, windowMs: 15 * MINUTE_MS },
  /** Wrong passwords for one address from anywhere. */
  signInAddress: { kind: 'sign_in_address', attemptsMax: 60, windowMs: 15 * MINUTE_MS },
  /** Wrong passwords from one client. */
  signInClient: { kind: 'sign_in_client', attemptsMax: 150, windowMs: 15 * MINUTE_MS },
  signUpClient: { kind: 'sign_up_client', attemptsMax: 60, windowMs: HOUR_MS },
  /** Mails that a client asks for, with a link to set a password or to verify an address. */
  resetClient: { kind: 'reset_client', attemptsMax: 60, windowMs: HOUR_MS },
  /** Tokens from one client that were not valid. */
  tokenClient: { kind: 'token_client', attemptsMax: 60, windowMs: HOUR_MS },
  /** Invitations of one account. */
  inviteAccount: { kind: 'invite_account', attemptsMax: 30, windowMs: HOUR_MS },
  /** Mails of one kind to one person; beyond it none is sent, and nobody is told. */
  mail: { kind: 'mail', attemptsMax: 5, windowMs: HOUR_MS },
} as const satisfies Record<string, AttemptLimit>;

/** The longest window: counts that began earlier say nothing any more. */
export const ATTEMPTS_KEPT_MS = HOUR_MS;

export interface CountedAttempts {
  /** This one included. */
  readonly attempts: number;
  readonly beganAt: number;
}

/** Seconds until the next try is taken; null: this one is. */
export function retryAfterSeconds(limit: AttemptLimit, counted: CountedAttempts, nowMs: number): number | null {
  if (counted.attempts <= limit.attemptsMax) return null;
  return Math.max(1, Math.ceil((counted.beganAt + limit.windowMs - nowMs) / 1_000));
}

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
