import type { MailTokenKind } from '@gateway/contracts/messages';
import type { AttemptLimit, CountedAttempts } from './throttle.js';
import type { User } from './objects.js';
import type { Notice } from './mail/notice-rules.js';
import type { AuditOrigin } from './tx-ports.js';

/** A user with the hash of the password; null: none is set. */
export interface Person extends User {
  readonly passwordHash: string | null;
}

/** Passwords, sessions, tokens and attempts within one change. Times are epoch milliseconds. */
export interface SignInTx {
  /** The person of an address, in lower case. */
  personOfEmail(email: string): Promise<Person | null>;
  /** Locks the user until the end: passwords, sessions and tokens of one person change one after the other. */
  lockPerson(id: string): Promise<Person | null>;
  /** Null: there is none any more. */
  setPassword(user: string, passwordHash: string | null): Promise<void>;
  /** Ends the oldest ones above `keptMax`, this one counted. */
  insertSession(session: { digest: string; user: string; nowMs: number }, keptMax: number): Promise<void>;
  endSession(digests: readonly string[]): Promise<void>;
  /** The one who has a session with one of the digests. */
  userOfSession(digests: readonly string[]): Promise<string | null>;
  /** All of the user but those with these digests. */
  endSessions(user: string, kept: readonly string[]): Promise<void>;
  /** Forgets the oldest tokens of the same kind above `keptMax`, this one counted. */
  insertMailToken(token: NewMailToken, keptMax: number): Promise<void>;
  userOfMailToken(kind: MailTokenKind, digest: string, nowMs: number): Promise<string | null>;
  /** All tokens of the user; of one kind, or of every kind. */
  forgetMailTokens(user: string, kind: MailTokenKind | null): Promise<void>;
  /** Counts one more; a window that is over begins again. */
  countAttempt(limit: AttemptLimit, subject: string, nowMs: number): Promise<CountedAttempts>;
  /** What is counted now, without one more. */
  attemptsOf(limit: AttemptLimit, subject: string, nowMs: number): Promise<CountedAttempts>;
  /** Takes one attempt back; there are never fewer than none. */
  takeBackAttempt(limit: AttemptLimit, subject: string): Promise<void>;
  /** Taken when the change is committed. */
  queueSignUp(signUp: QueuedSignUp): Promise<void>;
  /** Sent when the change is committed; `user` null: to nobody, at the same cost. `account`: of an invitation. */
  queueNotice(notice: QueuedNotice): Promise<void>;
}

export interface NewMailToken {
  readonly digest: string;
  readonly user: string;
  readonly kind: MailTokenKind;
  readonly createdAt: number;
  readonly expiresAt: number;
}

export interface QueuedSignUp {
  readonly name: string;
  /** In lower case. */
  readonly email: string;
  readonly origin: AuditOrigin;
}

export interface QueuedNotice {
  readonly notice: Notice;
  readonly user: string | null;
  readonly account: string | null;
  readonly origin: AuditOrigin | null;
  readonly queuedAt: number;
}
