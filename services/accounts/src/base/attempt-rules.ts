const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** How often something may be tried in a window that opens with the first try. */
export interface AttemptLimit {
  readonly kind: string;
  readonly attemptsMax: number;
  readonly windowMs: number;
}

/**
 * Limits on guessing and on mails. Those of an address alone are wide, so that nobody can lock
 * somebody else out from one client; those of a client are wide, because offices share one.
 */
export const ATTEMPT_LIMITS = {
  /** Wrong passwords for one address from one client. */
  signInPair: { kind: 'sign_in_pair', attemptsMax: 10, windowMs: 15 * MINUTE_MS },
  /** Wrong passwords for one address from anywhere. */
  signInAddress: { kind: 'sign_in_address', attemptsMax: 60, windowMs: 15 * MINUTE_MS },
  /** Wrong passwords from one client. */
  signInClient: { kind: 'sign_in_client', attemptsMax: 150, windowMs: 15 * MINUTE_MS },
  signUpClient: { kind: 'sign_up_client', attemptsMax: 60, windowMs: HOUR_MS },
  /** Mails that a client requests, with a link to set a password or to verify an address. */
  resetClient: { kind: 'reset_client', attemptsMax: 60, windowMs: HOUR_MS },
  /** Tokens from one client that were not valid. */
  tokenClient: { kind: 'token_client', attemptsMax: 60, windowMs: HOUR_MS },
  /** Invitations of one account. */
  inviteAccount: { kind: 'invite_account', attemptsMax: 30, windowMs: HOUR_MS },
  /** Mails of one kind to one person; beyond it none is sent, and no answer shows it. */
  mail: { kind: 'mail', attemptsMax: 5, windowMs: HOUR_MS },
} as const satisfies Record<string, AttemptLimit>;

/** The longest window: counts that began earlier are of no use. */
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
