import type { accountsSignUp, AnswerBodyOf, ReceivedOf } from '@gateway/contracts/messages';
import { ATTEMPT_LIMITS } from '../domain/attempt-limits.js';
import type { BeginSignInPorts } from './begin-sign-in.js';
import { countAttempts } from './throttle.js';

/**
 * Takes a sign-up. Whether the address is known is not even looked at before the answer ({@link takeSignUp} does it), so that
 * neither the answer nor its time tells.
 */
export async function signUp(
  { store, nowMs }: BeginSignInPorts,
  { name, email, client, agent = null, requestId }: ReceivedOf<typeof accountsSignUp>,
): Promise<AnswerBodyOf<typeof accountsSignUp>> {
  return store.change(async (tx) => {
    const throttled = await countAttempts(tx, [{ limit: ATTEMPT_LIMITS.signUpClient, subject: client }], nowMs());
    if (throttled) return throttled;
    await tx.queueSignUp({ name, email: email.toLowerCase(), origin: { client, agent, requestId } });
    return { kind: 'accepted' };
  });
}
