import type { accountsBeginSignIn, AnswerBodyOf, ReceivedOf } from '@gateway/contracts/messages';
import { ATTEMPT_LIMITS } from '../domain/attempt-limits.js';
import type { AccountsStore } from '../ports.js';
import type { AccountsTx } from '../tx-ports.js';
import { countAttempts } from './throttle.js';

export interface BeginSignInPorts {
  readonly store: Pick<AccountsStore, 'change'>;
  readonly nowMs: () => number;
}

/**
 * What attempts to sign in are counted under. The address comes last: what a client does beyond its own limits counts against
 * nobody, so it takes several clients to make somebody wait.
 */
export function signInLimits(email: string, client: string) {
  return [
    { limit: ATTEMPT_LIMITS.signInClient, subject: client },
    { limit: ATTEMPT_LIMITS.signInPair, subject: `${client} ${email}` },
    { limit: ATTEMPT_LIMITS.signInAddress, subject: email },
  ] as const;
}

/**
 * A right password takes its own attempt back and no other: those before it may be somebody else's, from the same client, for the
 * same address, or in the same slot.
 */
export async function takeBackSignIn(
  tx: Pick<AccountsTx, 'takeBackAttempt'>,
  email: string,
  client: string,
): Promise<void> {
  for (const { limit, subject } of signInLimits(email, client)) await tx.takeBackAttempt(limit, subject);
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
    // Who has not verified the address has no password: the answer is that of an address that nobody has.
    if (person?.emailVerified !== true || person.passwordHash === null) return { kind: 'proceed', user: null };
    return { kind: 'proceed', user: { id: person.id, passwordHash: person.passwordHash } };
  });
}
