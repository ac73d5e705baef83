import type { accountsCreateSession, AnswerBodyOf, ReceivedOf } from '@gateway/contracts/messages';
import type { AccountsStore } from '../ports.js';
import { takeBackSignIn } from './begin-sign-in.js';
import { findSession, type FindSessionPorts } from './find-session.js';

export type CreateSessionPorts = FindSessionPorts & { readonly store: Pick<AccountsStore, 'change'> };

/** Sessions of one person at a time: the oldest ends. */
export const SESSIONS_MAX = 20;

/**
 * Begins a session, if the hash that the password was compared with is still the person's, and takes the counted attempt back.
 */
export async function createSession(
  ports: CreateSessionPorts,
  { user, comparedHash, newHash, digest, client }: ReceivedOf<typeof accountsCreateSession>,
): Promise<AnswerBodyOf<typeof accountsCreateSession>> {
  const isMade = await ports.store.change(async (tx) => {
    const person = await tx.lockPerson(user);
    if (person?.passwordHash !== comparedHash) return false;
    if (newHash !== undefined) await tx.setPassword(user, newHash);
    await tx.insertSession({ digest, user, nowMs: ports.nowMs() }, SESSIONS_MAX);
    await takeBackSignIn(tx, person.email, client);
    return true;
  });
  return isMade ? findSession(ports, { digests: [digest] }) : { session: null };
}
