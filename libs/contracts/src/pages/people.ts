import { z } from 'zod';
import { memberCreate, memberPut, memberRole, memberView } from '../operator/accounts.js';
import { operatorRole } from '../operator/operators.js';
import { email, label, objectId } from '../operator/scalars.js';

/** Length of a password. The maximum limits the cost of hashing. */
export const PASSWORD_CHARS_MIN = 10;
export const PASSWORD_CHARS_MAX = 200;
const newPassword = z.string().min(PASSWORD_CHARS_MIN).max(PASSWORD_CHARS_MAX);
/** An existing password. Different rules may have applied when it was set. */
const knownPassword = z.string().min(1).max(PASSWORD_CHARS_MAX);

/** Token of an email link: 256 random bits in base64url. */
export const emailToken = z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'the token of an email link');

/** GET /api/config: settings that the pages need before a user signs in. */
export const pagesConfig = z.object({
  chatBaseUrl: z.string(),
  /** Null: this deployment has no messages endpoints. */
  messagesBaseUrl: z.string().nullable(),
  teamsEnabled: z.boolean(),
  signUpEnabled: z.boolean(),
  /** Whether operators sign in on these pages. */
  operatorsEnabled: z.boolean(),
  /**
   * Whether the pages use plain HTTP on a host other than loopback, where passwords and secrets are
   * sent unencrypted.
   */
  tlsNeeded: z.boolean(),
  /** Prefix of new keys. */
  keyPrefix: z.string(),
  version: z.string(),
});
export type PagesConfig = z.infer<typeof pagesConfig>;

/** A sign-up has no password. It is set with the link in the email. */
export const signUp = z.object({ name: label, email });

export const signIn = z.object({ email, password: knownPassword });

export const forgotPassword = z.object({ email });
export const resendVerification = forgotPassword;
export const resetPassword = z.object({ token: emailToken, password: newPassword });
/** Set the first password. Both requests sign in and return the session. */
export const verifyEmail = resetPassword;
export const acceptInvitation = resetPassword;
export const changePassword = z.object({ oldPassword: knownPassword, newPassword });

/** Response that does not reveal whether the address is known. */
export const accepted = z.object({});
/** The address that a token belonged to. */
export const tokenUsed = z.object({ email: z.string() });
export type TokenUsed = z.infer<typeof tokenUsed>;

/** An account of the user, in the account menu. */
export const sessionAccount = z.object({
  id: objectId,
  name: z.string(),
  type: z.enum(['personal', 'team']),
  state: z.enum(['active', 'suspended', 'closed']),
  role: memberRole,
  memberId: objectId,
});
export type SessionAccount = z.infer<typeof sessionAccount>;

/** The operator session of the same browser, if there is one. */
export const operatorSession = z.object({ name: z.string(), role: operatorRole });
export type OperatorSession = z.infer<typeof operatorSession>;

/** GET /api/session, and the response to a sign-in. Null `user`: only an operator is signed in. */
export const pageSession = z.object({
  user: z.object({ id: objectId, email: z.string(), emailVerified: z.boolean() }).nullable(),
  /** Value of the `x-csrf-token` header for all requests except GET. */
  csrfToken: z.string(),
  accounts: z.array(sessionAccount),
  operator: operatorSession.nullable(),
});
export type PageSession = z.infer<typeof pageSession>;

export const operatorSignIn = z.object({ token: z.string().min(1).max(500) });

/** An invitation by email. Only the email verifies an address. */
export const invitation = memberCreate.omit({ emailVerified: true });
export type Invitation = z.input<typeof invitation>;

/**
 * A member in the account's list. It omits whether the address is verified, because that concerns
 * the user and not the account.
 */
export const pageMember = memberView.omit({ emailVerified: true });
export type PageMember = z.infer<typeof pageMember>;

/** New role and cap of a member. The address cannot change. */
export const pageMemberPut = memberPut.pick({ role: true, monthlySpendCapUsd: true });
export type PageMemberPut = z.input<typeof pageMemberPut>;
