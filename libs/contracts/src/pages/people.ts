import { z } from 'zod';
import { memberRole } from '../operator/accounts.js';
import { operatorRole } from '../operator/operators.js';
import { email, label, objectId } from '../operator/scalars.js';

/**
 * Characters of a password. The upper bound keeps hashing cheap to ask for; no kind of character is
 * required.
 */
export const PASSWORD_CHARS_MIN = 10;
export const PASSWORD_CHARS_MAX = 200;
const newPassword = z.string().min(PASSWORD_CHARS_MIN).max(PASSWORD_CHARS_MAX);
/** A password that is compared: rules for new ones may have been others when it was set. */
const knownPassword = z.string().min(1).max(PASSWORD_CHARS_MAX);

/** Of a link in a mail: 256 random bits in base64url. */
export const mailToken = z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'the token of a link in a mail');

/** GET /api/config: what the pages need before anybody has signed in. */
export const pagesConfig = z.object({
  chatBaseUrl: z.string(),
  /** Null: the messages endpoints are switched off on this deployment. */
  messagesBaseUrl: z.string().nullable(),
  teamsEnabled: z.boolean(),
  signUpEnabled: z.boolean(),
  /** Operators sign in on these pages. */
  operatorsEnabled: z.boolean(),
  /** Plain HTTP on a host other than loopback: passwords and secrets would travel readable. */
  tlsNeeded: z.boolean(),
  /** What the secrets of new keys begin with. */
  keyPrefix: z.string(),
  version: z.string(),
});
export type PagesConfig = z.infer<typeof pagesConfig>;

/** Without a password: the link in the mail sets it. */
export const signUp = z.object({ name: label, email });
export type SignUp = z.output<typeof signUp>;

export const signIn = z.object({ email, password: knownPassword });
export type SignIn = z.output<typeof signIn>;

export const forgotPassword = z.object({ email });
export const resendVerification = forgotPassword;
export const resetPassword = z.object({ token: mailToken, password: newPassword });
/** The first password. Both sign in, and are answered with the session. */
export const verifyEmail = resetPassword;
export const acceptInvitation = resetPassword;
export const changePassword = z.object({ oldPassword: knownPassword, newPassword });

/** Answers that are the same whether or not the address is known. */
export const accepted = z.object({});
/** Whose address a token belonged to. */
export const tokenUsed = z.object({ email: z.string() });
export type TokenUsed = z.infer<typeof tokenUsed>;

/** A person's place in an account, as the menu of accounts shows it. */
export const sessionAccount = z.object({
  id: objectId,
  name: z.string(),
  type: z.enum(['personal', 'team']),
  state: z.enum(['active', 'suspended', 'closed']),
  role: memberRole,
  memberId: objectId,
});
export type SessionAccount = z.infer<typeof sessionAccount>;

/** The operator session beside it, if there is one. */
export const operatorSession = z.object({ name: z.string(), role: operatorRole });
export type OperatorSession = z.infer<typeof operatorSession>;

/** GET /api/session, and the answer of a sign-in. `user` null: only an operator is signed in. */
export const pageSession = z.object({
  user: z.object({ id: objectId, email: z.string(), emailVerified: z.boolean() }).nullable(),
  /** To be sent as `x-csrf-token` with every request that is not a GET. */
  csrfToken: z.string(),
  accounts: z.array(sessionAccount),
  operator: operatorSession.nullable(),
});
export type PageSession = z.infer<typeof pageSession>;

export const operatorSignIn = z.object({ token: z.string().min(1).max(500) });
