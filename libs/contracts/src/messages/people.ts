import { z } from 'zod';
import { managementRefusal } from '../operator/index.js';
import { sessionAccount } from '../pages/people.js';
import { email, label } from '../operator/scalars.js';
import { client, requestOrigin, throttled } from './access.js';
import { request } from './message.js';
import { digest, digests, objectId } from './scalars.js';

const people = {
  version: 1,
  sentBy: ['dashboard'],
  servedBy: ['accounts'],
  perReplica: false,
  answers: 'one',
  timeoutMs: 5_000,
} as const;

/** PHC string of a password hash. The password itself never leaves the dashboard. */
export const passwordHash = z
  .string()
  .max(300)
  .regex(/^\$scrypt\$[A-Za-z0-9$=,+/]+$/);
/** SHA-256 of an email token (256 random bits), hexadecimal. Only the email has the token. */
const tokenDigest = digest;

/** The purposes of an email token. */
export const MAIL_TOKEN_KINDS = ['verify', 'reset', 'invitation'] as const;
export const mailTokenKind = z.enum(MAIL_TOKEN_KINDS);
export type MailTokenKind = z.infer<typeof mailTokenKind>;

/** Unknown, used or too old. */
const tokenInvalid = z.object({ kind: z.literal('token_invalid') });
/** Accepted, possibly without an effect. It does not reveal whether an address is known. */
const accepted = z.object({ kind: z.literal('accepted') });

/**
 * Accepts a sign-up and emails the result to the address. A new address gets a user with a personal
 * account, and a link that verifies the address and sets the first password. A known address gets
 * an email that it is known. Both happen after the response, so neither the response nor its
 * duration reveals which case it was.
 */
export const accountsSignUp = request({
  ...people,
  name: 'accounts.sign-up',
  body: z.object({ name: label, email, origin: requestOrigin }),
  answer: z.discriminatedUnion('kind', [accepted, throttled]),
});

/**
 * Counts a sign-in attempt on an address and returns the password hash to compare with. `user` is
 * null if no user can sign in with the address, for example because it is not verified. The caller
 * must then spend the same time.
 */
export const accountsBeginSignIn = request({
  ...people,
  name: 'accounts.begin-sign-in',
  body: z.object({ email, client }),
  answer: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('proceed'), user: z.object({ id: objectId, passwordHash }).nullable() }),
    throttled,
  ]),
});

/** A user's session with the fields that every request needs. Closed accounts are omitted. */
export const peopleSession = z.object({
  user: z.object({ id: objectId, email: z.string(), emailVerified: z.boolean() }),
  accounts: z.array(sessionAccount),
});
export type PeopleSession = z.infer<typeof peopleSession>;

/**
 * Starts a session after the password was verified. `comparedHash` must still be the user's hash,
 * so a password that changed in the meantime starts no session. `newHash`: the same password with
 * the current cost.
 */
export const accountsCreateSession = request({
  ...people,
  name: 'accounts.create-session',
  body: z.object({
    user: objectId,
    comparedHash: passwordHash,
    newHash: passwordHash.optional(),
    digest,
    origin: requestOrigin,
  }),
  answer: z.object({ session: peopleSession.nullable() }),
});

/**
 * Finds a running session by digests. The dashboard sends this for every request, so that a
 * sign-out takes effect immediately.
 */
export const accountsFindSession = request({
  ...people,
  name: 'accounts.find-session',
  timeoutMs: 2_000,
  body: z.object({ digests }),
  answer: z.object({ session: peopleSession.nullable() }),
});

/** Ends this session, or all sessions of its user. */
export const accountsEndSession = request({
  ...people,
  name: 'accounts.end-session',
  body: z.object({ digests, everywhere: z.boolean(), origin: requestOrigin }),
  answer: z.object({ ended: z.literal(true) }),
});

/** Emails another verification link if the address has a user and is not verified. */
export const accountsResendVerification = request({
  ...people,
  name: 'accounts.resend-verification',
  body: z.object({ email, origin: requestOrigin }),
  answer: z.discriminatedUnion('kind', [accepted, throttled]),
});

/** Emails a password reset link if the address has a user. */
export const accountsRequestReset = request({
  ...people,
  name: 'accounts.request-reset',
  body: z.object({ email, origin: requestOrigin }),
  answer: z.discriminatedUnion('kind', [accepted, throttled]),
});

/**
 * Checks an email token before a password is hashed for it. An invalid token counts as an attempt
 * of the client.
 */
export const accountsFindMailToken = request({
  ...people,
  name: 'accounts.find-mail-token',
  body: z.object({ kind: mailTokenKind, digest: tokenDigest, client }),
  answer: z.discriminatedUnion('kind', [z.object({ kind: z.literal('found') }), tokenInvalid, throttled]),
});

/**
 * Uses an email token once: sets the password, verifies the address that the token was sent to, and
 * ends all sessions of the user. `verify` and `invitation` require a user without a password.
 * `session`: the digest of a session to start.
 */
export const accountsUseMailToken = request({
  ...people,
  name: 'accounts.use-mail-token',
  body: z.object({
    kind: mailTokenKind,
    digest: tokenDigest,
    passwordHash,
    session: digest.optional(),
    origin: requestOrigin,
  }),
  answer: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('used'), email: z.string() }),
    tokenInvalid,
    throttled,
  ]),
});

/**
 * Changes the password if `comparedHash` is still the user's hash, and ends all sessions except the
 * one of the digests.
 */
export const accountsChangePassword = request({
  ...people,
  name: 'accounts.change-password',
  body: z.object({ user: objectId, comparedHash: passwordHash, newHash: passwordHash, digests, origin: requestOrigin }),
  answer: z.object({ changed: z.boolean() }),
});

/**
 * Whether this member may create a key now by the key rules, and which cap the key would get.
 * Creates nothing.
 */
export const accountsKeyCreation = request({
  ...people,
  name: 'accounts.key-creation',
  body: z.object({ account: objectId, member: objectId }),
  answer: z.union([
    z.object({
      refusal: managementRefusal.nullable(),
      activeKeys: z.int().min(0),
      activeKeysMax: z.int().min(0),
      defaultCapUsd: z.string().nullable(),
    }),
    managementRefusal,
  ]),
});
