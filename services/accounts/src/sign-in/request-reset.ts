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
  ports: BeginSignInPorts,
  request: ReceivedOf<typeof accountsRequestReset>,
): Promise<AnswerBodyOf<typeof accountsRequestReset>> {
  return requestLink(ports, request, 'reset');
}

/** Mails another link to verify an address. One that nobody has, or that is verified, is answered the same, after the same work. */
export async function resendVerification(
  ports: BeginSignInPorts,
  request: ReceivedOf<typeof accountsResendVerification>,
): Promise<AnswerBodyOf<typeof accountsResendVerification>> {
  return requestLink(ports, request, 'verify');
}

async function requestLink(
  { store, nowMs }: BeginSignInPorts,
  { email, ...origin }: ReceivedOf<typeof accountsRequestReset>,
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
