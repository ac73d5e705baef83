import type {
  accountsBeginSignIn,
  AnswerBodyOf,
  ReceivedOf,
  accountsChangePassword,
} from '@gateway/contracts/messages';
import { ATTEMPT_LIMITS } from '../base/attempt-rules.js';
import { countAttempts } from '../base/count-attempts.js';
import { queueNotice } from '../mail/queue-notice.js';
import type { SignInStore, SignInTx } from './store.js';

export interface BeginSignInDeps {
  readonly store: Pick<SignInStore, 'change'>;
  readonly nowMs: () => number;
}

/**
 * Returns the limits of a sign-in attempt. The address is last, so that attempts above a client's
 * own limits do not count against it. It takes several clients to make a user wait.
 */
export function signInLimits(email: string, client: string) {
  return [
    { limit: ATTEMPT_LIMITS.signInClient, subject: client },
    { limit: ATTEMPT_LIMITS.signInPair, subject: `${client} ${email}` },
    { limit: ATTEMPT_LIMITS.signInAddress, subject: email },
  ] as const;
}

/**
 * Removes only the attempt with the correct password from the counts. Earlier attempts may be
 * someone else's, from the same client, for the same address, or in the same slot.
 */
export async function takeBackSignIn(
  tx: Pick<SignInTx, 'takeBackAttempt'>,
  email: string,
  client: string,
): Promise<void> {
  for (const { limit, subject } of signInLimits(email, client)) await tx.takeBackAttempt(limit, subject);
}

/**
 * Counts an attempt before the comparison, so that concurrent attempts count too, and returns the
 * hash to compare with. Addresses without a user are counted in the same way.
 */
export async function beginSignIn(
  { store, nowMs }: BeginSignInDeps,
  request: ReceivedOf<typeof accountsBeginSignIn>,
): Promise<AnswerBodyOf<typeof accountsBeginSignIn>> {
  const email = request.email.toLowerCase();
  return store.change(async (tx) => {
    const throttled = await countAttempts(tx, signInLimits(email, request.client), nowMs());
    if (throttled) return throttled;
    const person = await tx.personOfEmail(email);
    // A user with an unverified address has no password, so the response is that of an unknown
    // address.
    if (person?.emailVerified !== true || person.passwordHash === null) return { kind: 'proceed', user: null };
    return { kind: 'proceed', user: { id: person.id, passwordHash: person.passwordHash } };
  });
}

/** Changes the password if the compared hash is still the user's. Other sessions end. */
export async function changePassword(
  { store, nowMs }: BeginSignInDeps,
  { user, comparedHash, newHash, digests, origin }: ReceivedOf<typeof accountsChangePassword>,
): Promise<AnswerBodyOf<typeof accountsChangePassword>> {
  return store.change(async (tx) => {
    const person = await tx.lockPerson(user);
    if (person?.passwordHash !== comparedHash) return { changed: false };
    await tx.setPassword(user, newHash);
    await tx.endSessions(user, digests);
    await tx.deleteMailTokens(user, 'reset');
    await takeBackSignIn(tx, person.email, origin.client);
    await queueNotice(tx, { notice: 'password_changed', user }, nowMs());
    const entry = { action: 'change_password', account: null, objectId: user, before: null, after: null };
    await tx.audit({ author: { actor: `user:${user}`, origin }, ...entry });
    return { changed: true };
  });
}
