import type { accountsBeginSignIn, AnswerBodyOf, ReceivedOf } from '@gateway/contracts/messages';
import { ATTEMPT_LIMITS } from '../domain/attempt-limits.js';
import type { AccountsStore } from '../ports.js';
import { countAttempts } from './throttle.js';

export interface BeginSignInPorts {
  readonly store: Pick<AccountsStore, 'change'>;
  readonly nowMs: () => number;
}

/** What attempts to sign in are counted under; a success takes them back. */
export function signInLimits(email: string, client: string) {
  return [
    { limit: ATTEMPT_LIMITS.signInClient, subject: client },
    { limit: ATTEMPT_LIMITS.signInAddress, subject: email },
    { limit: ATTEMPT_LIMITS.signInPair, subject: `${client} ${email}` },
  ] as const;
}

/**
 * Counts an attempt before anything is compared, so that attempts at the same moment count too, and hands out the hash to compare
 * with. Unknown addresses are counted like known ones.
 */
export async function beginSignIn(
  { store, nowMs }: BeginSignInPorts,
  request: ReceivedOf<typeof accountsBeginSignIn>,
): Promise<AnswerBodyOf<typeof accountsBeginSignIn>> {
  const email = request.email.toLowerCase();
  return store.change(async (tx) => {
    const throttled = await countAttempts(tx, signInLimits(email, request.client), nowMs());
    if (throttled) return throttled;
    const person = await tx.personOfEmail(email);
    if (person === null || person.passwordHash === null) return { kind: 'proceed', user: null };
    return { kind: 'proceed', user: { id: person.id, passwordHash: person.passwordHash } };
  });
}
