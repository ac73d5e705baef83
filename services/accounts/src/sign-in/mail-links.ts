import type {
  accountsFindMailToken,
  accountsUseMailToken,
  AnswerBodyOf,
  MailTokenKind,
  ReceivedOf,
  accountsRequestReset,
  accountsResendVerification,
} from '@gateway/contracts/messages';
import { ATTEMPT_LIMITS, retryAfterSeconds } from '../base/attempt-rules.js';
import { type Throttled, countAttempts } from '../base/count-attempts.js';
import { queueNotice } from '../mail/queue-notice.js';
import type { UserWithPassword } from '../base/rules.js';
import type { SignInTx } from './store.js';
import type { BeginSignInDeps } from './passwords.js';
import { auditSession, SESSIONS_MAX } from './sessions.js';

type Named = ReceivedOf<typeof accountsFindMailToken>;
type InvalidToken = Throttled | { readonly kind: 'token_invalid' };

/** Whether a token is valid. The dashboard checks it before it hashes a password. */
export async function findMailToken(
  { store, nowMs }: BeginSignInDeps,
  request: Named,
): Promise<AnswerBodyOf<typeof accountsFindMailToken>> {
  return store.change(async (tx) => {
    const found = await usable(tx, request, nowMs());
    return 'person' in found ? { kind: 'found' } : found;
  });
}

/**
 * Uses an email token once to set a password. Its holder can read the emails of the address, so the
 * address is verified. All sessions of the user end and all other links become invalid. A session
 * begins if one is requested.
 */
export async function useMailToken(
  { store, nowMs }: BeginSignInDeps,
  { kind, digest, passwordHash, session, origin }: ReceivedOf<typeof accountsUseMailToken>,
): Promise<AnswerBodyOf<typeof accountsUseMailToken>> {
  return store.change(async (tx) => {
    const now = nowMs();
    const found = await usable(tx, { kind, digest, client: origin.client }, now);
    if (!('person' in found)) return found;
    const { id: user, email, emailVerified } = found.person;
    if (!emailVerified) await tx.verifyUser(user);
    await tx.setPassword(user, passwordHash);
    await tx.endSessions(user, []);
    await tx.deleteMailTokens(user, null);
    const entry = { action: ACTIONS[kind], account: null, objectId: user, before: null, after: null };
    await tx.audit({ author: { actor: `user:${user}`, origin }, ...entry });
    if (kind === 'reset') await queueNotice(tx, { notice: 'password_changed', user }, now);
    if (session !== undefined) {
      await tx.insertSession({ digest: session, user, nowMs: now }, SESSIONS_MAX);
      await auditSession(tx, user, origin, 'sign_in');
    }
    return { kind: 'used', email };
  });
}

const ACTIONS: Record<MailTokenKind, string> = {
  verify: 'verify_email',
  reset: 'reset_password',
  invitation: 'accept_invitation',
};

/**
 * Returns the user of a valid token, locked. Only a user without a password can set a first one. An
 * invalid token counts as an attempt of the client.
 */
async function usable(
  tx: SignInTx,
  { kind, digest, client }: Named,
  now: number,
): Promise<{ readonly person: UserWithPassword } | InvalidToken> {
  const limit = ATTEMPT_LIMITS.tokenClient;
  const counted = await tx.attemptsOf(limit, client, now);
  const wait = retryAfterSeconds(limit, { ...counted, attempts: counted.attempts + 1 }, now);
  if (wait !== null) return { kind: 'throttled', retryAfterSeconds: wait };
  const user = await tx.userOfMailToken(kind, digest, now);
  const person = user && (await tx.lockPerson(user));
  // Checked again under the lock, because the token may have been used concurrently.
  const isValid = person && (await tx.userOfMailToken(kind, digest, now)) !== null;
  if (isValid && (kind === 'reset' || person.passwordHash === null)) return { person };
  await tx.countAttempt(limit, client, now);
  return { kind: 'token_invalid' };
}

/** Emails a password reset link. An unknown address gets the same response after the same work. */
export async function requestReset(
  deps: BeginSignInDeps,
  request: ReceivedOf<typeof accountsRequestReset>,
): Promise<AnswerBodyOf<typeof accountsRequestReset>> {
  return requestLink(deps, request, 'reset');
}

/**
 * Emails another verification link. An unknown or verified address gets the same response after the
 * same work.
 */
export async function resendVerification(
  deps: BeginSignInDeps,
  request: ReceivedOf<typeof accountsResendVerification>,
): Promise<AnswerBodyOf<typeof accountsResendVerification>> {
  return requestLink(deps, request, 'verify');
}

async function requestLink(
  { store, nowMs }: BeginSignInDeps,
  { email, origin }: ReceivedOf<typeof accountsRequestReset>,
  notice: 'reset' | 'verify',
) {
  return store.change(async (tx) => {
    const now = nowMs();
    const limits = [{ limit: ATTEMPT_LIMITS.resetClient, subject: origin.client }];
    const throttled = await countAttempts(tx, limits, now);
    if (throttled) return throttled;
    const person = await tx.personOfEmail(email.toLowerCase());
    await queueNotice(tx, { notice, user: person?.id ?? null, origin }, now);
    return { kind: 'accepted' } as const;
  });
}
