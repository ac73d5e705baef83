import type {
  accountsRequestReset,
  accountsResendVerification,
  AnswerBodyOf,
  ReceivedOf,
} from '@gateway/contracts/messages';
import { ATTEMPT_LIMITS } from '../domain/attempt-limits.js';
import type { BeginSignInPorts } from './begin-sign-in.js';
import { queueNotice } from './queue-notice.js';
import { countAttempts } from './throttle.js';

/** Mails a link to set a new password. An address that nobody has is answered the same, after the same work. */
export async function requestReset(
  { store, nowMs }: BeginSignInPorts,
  { email, client }: ReceivedOf<typeof accountsRequestReset>,
): Promise<AnswerBodyOf<typeof accountsRequestReset>> {
  return store.change(async (tx) => {
    const now = nowMs();
    const throttled = await countAttempts(tx, [{ limit: ATTEMPT_LIMITS.resetClient, subject: client }], now);
    if (throttled) return throttled;
    const person = await tx.personOfEmail(email.toLowerCase());
    await queueNotice(tx, { notice: 'reset', user: person?.id ?? null }, now);
    return { kind: 'accepted' };
  });
}

/** Mails another link to verify the address of somebody who is signed in. */
export async function resendVerification(
  { store, nowMs }: BeginSignInPorts,
  { user }: ReceivedOf<typeof accountsResendVerification>,
): Promise<AnswerBodyOf<typeof accountsResendVerification>> {
  await store.change(async (tx) => {
    const person = await tx.lockPerson(user);
    if (person !== null && !person.emailVerified) await queueNotice(tx, { notice: 'verify', user }, nowMs());
  });
  return { kind: 'accepted' };
}
