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

/** PHC string of a password's hash. The password itself never leaves the dashboard. */
export const passwordHash = z
  .string()
  .max(300)
  .regex(/^\$scrypt\$[A-Za-z0-9$=,+/]+$/);
/** SHA-256 of a mail's token (256 random bits), hexadecimal. The token is only in the mail. */
const tokenDigest = digest;

/** What a token of a mail can be used for. */
export const MAIL_TOKEN_KINDS = ['verify', 'reset', 'invitation'] as const;
export const mailTokenKind = z.enum(MAIL_TOKEN_KINDS);
export type MailTokenKind = z.infer<typeof mailTokenKind>;

/** Unknown, used or too old. */
const tokenInvalid = z.object({ kind: z.literal('token_invalid') });
/** Done, or nothing to do: an answer that does not tell whether an address is known. */
const accepted = z.object({ kind: z.literal('accepted') });

/**
 * Takes a sign-up; what becomes of it goes to the address by mail. A new address becomes a person
 * with a personal account, and is mailed the link that verifies it and sets the first password; a
 * known one is mailed that it is known. That happens after the answer, so neither the answer nor
 * its time tells which it was.
 */
export const accountsSignUp = request({
  ...people,
  name: 'accounts.sign-up',
  subject: 'accounts.sign-up',
  body: z.object({ name: label, email, origin: requestOrigin }),
  answer: z.discriminatedUnion('kind', [accepted, throttled]),
});

/**
 * Counts an attempt on an address and hands out the hash that the password is to be compared with.
 * `user` null: nobody who could sign in, such as somebody who has not verified the address; the
 * caller must take as long.
 */
export const accountsBeginSignIn = request({
  ...people,
  name: 'accounts.begin-sign-in',
  subject: 'accounts.begin-sign-in',
  body: z.object({ email, client }),
  answer: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('proceed'), user: z.object({ id: objectId, passwordHash }).nullable() }),
    throttled,
  ]),
});

/** A person's session as every request with it needs it. Accounts without closed ones. */
export const peopleSession = z.object({
  user: z.object({ id: objectId, email: z.string(), emailVerified: z.boolean() }),
  accounts: z.array(sessionAccount),
});
export type PeopleSession = z.infer<typeof peopleSession>;

/**
 * Begins a session after the password was found right. `comparedHash` must still be the person's: a
 * password that was changed meanwhile opens nothing. `newHash`: the same password under today's
 * cost.
 */
export const accountsCreateSession = request({
  ...people,
  name: 'accounts.create-session',
  subject: 'accounts.create-session',
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
 * The session that has one of the digests and has not ended. Asked for every request, so that a
 * sign-out holds at once.
 */
export const accountsFindSession = request({
  ...people,
  name: 'accounts.find-session',
  subject: 'accounts.find-session',
  timeoutMs: 2_000,
  body: z.object({ digests }),
  answer: z.object({ session: peopleSession.nullable() }),
});

/** Ends this session, or all sessions of its person. */
export const accountsEndSession = request({
  ...people,
  name: 'accounts.end-session',
  subject: 'accounts.end-session',
  body: z.object({ digests, everywhere: z.boolean(), origin: requestOrigin }),
  answer: z.object({ ended: z.literal(true) }),
});

/** Mails another link to verify the address, if its person is there and it is not verified. */
export const accountsResendVerification = request({
  ...people,
  name: 'accounts.resend-verification',
  subject: 'accounts.resend-verification',
  body: z.object({ email, origin: requestOrigin }),
  answer: z.discriminatedUnion('kind', [accepted, throttled]),
});

/** Mails a link to set a new password to the person of the address, if there is one. */
export const accountsRequestReset = request({
  ...people,
  name: 'accounts.request-reset',
  subject: 'accounts.request-reset',
  body: z.object({ email, origin: requestOrigin }),
  answer: z.discriminatedUnion('kind', [accepted, throttled]),
});

/**
 * Whether a token can be used, before a password is hashed for it. Counted as an attempt of the
 * client when it cannot.
 */
export const accountsFindMailToken = request({
  ...people,
  name: 'accounts.find-mail-token',
  subject: 'accounts.find-mail-token',
  body: z.object({ kind: mailTokenKind, digest: tokenDigest, client }),
  answer: z.discriminatedUnion('kind', [z.object({ kind: z.literal('found') }), tokenInvalid, throttled]),
});

/**
 * Uses a token, once: sets the password, verifies the address that it was mailed to, and ends all
 * sessions of the person. `verify` and `invitation` are for a person who has no password yet.
 * `session`: the digest of a session that begins with it.
 */
export const accountsUseMailToken = request({
  ...people,
  name: 'accounts.use-mail-token',
  subject: 'accounts.use-mail-token',
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
 * Sets another password, if `comparedHash` is still the person's, and ends all sessions but that of
 * the digests.
 */
export const accountsChangePassword = request({
  ...people,
  name: 'accounts.change-password',
  subject: 'accounts.change-password',
  body: z.object({ user: objectId, comparedHash: passwordHash, newHash: passwordHash, digests, origin: requestOrigin }),
  answer: z.object({ changed: z.boolean() }),
});

/**
 * Whether this member may make a key now by the key rules, and what a key would get; nothing is
 * made.
 */
export const accountsKeyCreation = request({
  ...people,
  name: 'accounts.key-creation',
  subject: 'accounts.key-creation',
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
