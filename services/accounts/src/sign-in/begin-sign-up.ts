import type { accountsBeginSignUp, AnswerBodyOf, ReceivedOf } from '@gateway/contracts/messages';
import { ATTEMPT_LIMITS } from '../domain/attempt-limits.js';
import type { BeginSignInPorts } from './begin-sign-in.js';
import { countAttempts } from './throttle.js';

/** Counts an attempt to sign up before the dashboard hashes a password for it; it is not counted again. */
export async function beginSignUp(
  { store, nowMs }: BeginSignInPorts,
  { client }: ReceivedOf<typeof accountsBeginSignUp>,
): Promise<AnswerBodyOf<typeof accountsBeginSignUp>> {
  const limits = [{ limit: ATTEMPT_LIMITS.signUpClient, subject: client }];
  const throttled = await store.change((tx) => countAttempts(tx, limits, nowMs()));
  return throttled ?? { kind: 'proceed' };
}
