import type {
  accountsFindMailToken,
  accountsUseMailToken,
  AnswerBodyOf,
  MailTokenKind,
  ReceivedOf,
} from '@gateway/contracts/messages';
import { ATTEMPT_LIMITS, retryAfterSeconds } from '../domain/attempt-limits.js';
import type { Person } from '../signing-ports.js';
import type { AccountsTx } from '../tx-ports.js';
import type { BeginSignInPorts } from './begin-sign-in.js';
import { queueNotice } from './queue-notice.js';
import type { Throttled } from './throttle.js';

type Use = ReceivedOf<typeof accountsUseMailToken>;
type Named = Pick<Use, 'kind' | 'digest' | 'client'>;
type NotUsable = Throttled | { readonly kind: 'token_invalid' };

/** Whether a token can be used: asked before a password is hashed for it. */
export async function findMailToken(
  { store, nowMs }: BeginSignInPorts,
  request: ReceivedOf<typeof accountsFindMailToken>,
): Promise<AnswerBodyOf<typeof accountsFindMailToken>> {
  return store.change(async (tx) => {
    const found = await usable(tx, request, nowMs());
    return 'person' in found ? { kind: 'found' } : found;
  });
}

/**
 * Uses the token of a mail once: all of its kind are gone with it. Whoever has it reads the mails of the address, which is verified by
 * that. A new password ends all sessions and takes the other links back.
 */
export async function useMailToken(
  { store, nowMs }: BeginSignInPorts,
  request: Use,
): Promise<AnswerBodyOf<typeof accountsUseMailToken>> {
  return store.change(async (tx) => {
    const now = nowMs();
    const found = await usable(tx, request, now);
    if (!('person' in found)) return found;
    const { person } = found;
    if (!person.emailVerified) await tx.verifyUser(person.id);
    if (request.kind === 'verify') await tx.forgetMailTokens(person.id, 'verify');
    else await setPassword(tx, person, request, now);
    const action = ACTIONS[request.kind];
    const entry = { action, account: null, objectId: person.id, before: null, after: null };
    await tx.audit({ actor: `user:${person.id}`, ...entry });
    return { kind: 'used', email: person.email };
  });
}

const ACTIONS: Record<MailTokenKind, string> = {
  verify: 'verify_email',
  reset: 'reset_password',
  invitation: 'accept_invitation',
};

async function setPassword(
  tx: AccountsTx,
  person: Person,
  { kind, passwordHash }: Extract<Use, { passwordHash: string }>,
  now: number,
): Promise<void> {
  await tx.setPassword(person.id, passwordHash);
  await tx.endSessions(person.id, []);
  await tx.forgetMailTokens(person.id, null);
  if (kind === 'reset') await queueNotice(tx, { notice: 'password_changed', user: person.id }, now);
}

/** The person of a token, locked. A token that is not valid counts as an attempt of the client. */
async function usable(
  tx: AccountsTx,
  { kind, digest, client }: Named,
  now: number,
): Promise<{ readonly person: Person } | NotUsable> {
  const limit = ATTEMPT_LIMITS.tokenClient;
  const counted = await tx.attemptsOf(limit, client, now);
  const wait = retryAfterSeconds(limit, { ...counted, attempts: counted.attempts + 1 }, now);
  if (wait !== null) return { kind: 'throttled', retryAfterSeconds: wait };
  const user = await tx.userOfMailToken(kind, digest, now);
  const person = user && (await tx.lockPerson(user));
  // Once more under the lock: somebody else may have used it meanwhile.
  const isValid = person && (await tx.userOfMailToken(kind, digest, now)) !== null;
  if (isValid && !(kind === 'invitation' && person.passwordHash !== null)) return { person };
  await tx.countAttempt(limit, client, now);
  return { kind: 'token_invalid' };
}
