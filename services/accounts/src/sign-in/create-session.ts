import type { accountsCreateSession, AnswerBodyOf, ReceivedOf } from '@gateway/contracts/messages';
import type { AccountsStore } from '../ports.js';
import type { AccountsTx, AuditOrigin } from '../tx-ports.js';
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
  { user, comparedHash, newHash, digest, ...origin }: ReceivedOf<typeof accountsCreateSession>,
): Promise<AnswerBodyOf<typeof accountsCreateSession>> {
  const { store, nowMs } = ports;
  const isMade = await store.change(async (tx) => {
    const person = await tx.lockPerson(user);
    if (person?.passwordHash !== comparedHash) return false;
    if (newHash !== undefined) await tx.setPassword(user, newHash);
    await tx.insertSession({ digest, user, nowMs: nowMs() }, SESSIONS_MAX);
    await takeBackSignIn(tx, person.email, origin.client);
    await auditSession(tx, user, origin, 'sign_in');
    return true;
  });
  return isMade ? findSession(ports, { digests: [digest] }) : { session: null };
}

/** A session began or ended. */
export async function auditSession(
  tx: Pick<AccountsTx, 'audit'>,
  user: string,
  origin: AuditOrigin,
  action: 'sign_in' | 'sign_out' | 'sign_out_everywhere',
): Promise<void> {
  const entry = { kind: 'access', actor: `user:${user}`, action, account: null, objectId: user } as const;
  await tx.audit({ ...entry, before: null, after: null, origin });
}
