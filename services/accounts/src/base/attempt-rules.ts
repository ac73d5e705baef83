const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The maximum number of attempts in a window, which begins with the first attempt. */
export interface AttemptLimit {
  readonly kind: string;
  readonly attemptsMax: number;
  readonly windowMs: number;
}

/**
 * Limits on guesses and on emails. The limit of an address alone is high, so that one client cannot
 * lock out the user. The limit of a client is high, because an office shares one.
 */
export const ATTEMPT_LIMITS = {
  /** Wrong passwords for one address from one client. */
  signInPair: { kind: 'sign_in_pair', attemptsMax: 10, windowMs: 15 * MINUTE_MS },
  /** Wrong passwords for one address from anywhere. */
  signInAddress: { kind: 'sign_in_address', attemptsMax: 60, windowMs: 15 * MINUTE_MS },
  /** Wrong passwords from one client. */
  signInClient: { kind: 'sign_in_client', attemptsMax: 150, windowMs: 15 * MINUTE_MS },
  signUpClient: { kind: 'sign_up_client', attemptsMax: 60, windowMs: HOUR_MS },
  /** Requests of one client for emails with a link to set a password or to verify an address. */
  resetClient: { kind: 'reset_client', attemptsMax: 60, windowMs: HOUR_MS },
  /** Invalid tokens from one client. */
  tokenClient: { kind: 'token_client', attemptsMax: 60, windowMs: HOUR_MS },
  /** Invitations of one account. */
  inviteAccount: { kind: 'invite_account', attemptsMax: 30, windowMs: HOUR_MS },
  /** Emails of one kind to one person. Above the limit none is sent, with the same response. */
  mail: { kind: 'mail', attemptsMax: 5, windowMs: HOUR_MS },
} as const satisfies Record<string, AttemptLimit>;

/** The longest window. Older counts are not needed. */
export const ATTEMPTS_KEPT_MS = HOUR_MS;

export interface CountedAttempts {
  /** Includes the current attempt. */
  readonly attempts: number;
  readonly beganAt: number;
}

/** Returns the seconds until the next attempt is permitted. Null: this attempt is permitted. */
export function retryAfterSeconds(limit: AttemptLimit, counted: CountedAttempts, nowMs: number): number | null {
  if (counted.attempts <= limit.attemptsMax) return null;
  return Math.max(1, Math.ceil((counted.beganAt + limit.windowMs - nowMs) / 1_000));
}
