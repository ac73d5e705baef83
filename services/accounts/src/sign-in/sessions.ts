import type {
  accountsCreateSession,
  AnswerBodyOf,
  ReceivedOf,
  accountsFindSession,
  accountsEndSession,
  RequestOrigin,
} from '@gateway/contracts/messages';
import type { SignInStore, SignInTx } from './store.js';
import { takeBackSignIn } from './passwords.js';

export type CreateSessionDeps = FindSessionDeps & { readonly store: Pick<SignInStore, 'change'> };

const DAY_MS = 86_400_000;
/** Maximum time between two uses of a session. */
export const SESSION_IDLE_MS = 7 * DAY_MS;
export const SESSION_LIFE_MS = 30 * DAY_MS;
/** Maximum number of sessions per user. Above it, the oldest ends. */
export const SESSIONS_MAX = 20;

/**
 * Starts a session if the compared hash is still the user's, and removes the attempt from the
 * counts.
 */
export async function createSession(
  deps: CreateSessionDeps,
  { user, comparedHash, newHash, digest, origin }: ReceivedOf<typeof accountsCreateSession>,
): Promise<AnswerBodyOf<typeof accountsCreateSession>> {
  const { store, nowMs } = deps;
  const isMade = await store.change(async (tx) => {
    const person = await tx.lockPerson(user);
    if (person?.passwordHash !== comparedHash) return false;
    if (newHash !== undefined) await tx.setPassword(user, newHash);
    await tx.insertSession({ digest, user, nowMs: nowMs() }, SESSIONS_MAX);
    await takeBackSignIn(tx, person.email, origin.client);
    await auditSession(tx, user, origin, 'sign_in');
    return true;
  });
  return isMade ? findSession(deps, { digests: [digest] }) : { session: null };
}

/** Writes the start or the end of a session to the audit log. */
export async function auditSession(
  tx: Pick<SignInTx, 'audit'>,
  user: string,
  origin: RequestOrigin,
  action: 'sign_in' | 'sign_out' | 'sign_out_everywhere',
): Promise<void> {
  const author = { actor: `user:${user}`, origin };
  await tx.audit({ kind: 'access', author, action, account: null, objectId: user, before: null, after: null });
}

export interface FindSessionDeps {
  readonly store: Pick<SignInStore, 'findSession' | 'touchSession'>;
  readonly nowMs: () => number;
}

/** Resolution of the recorded last use of a session. */
const TOUCH_EVERY_MS = 300_000;

/**
 * Returns the session of one of the digests with its user and accounts. A session found by a digest
 * under the previous secret moves to the digest under the current one.
 */
export async function findSession(
  { store, nowMs }: FindSessionDeps,
  { digests }: ReceivedOf<typeof accountsFindSession>,
): Promise<AnswerBodyOf<typeof accountsFindSession>> {
  const now = nowMs();
  const found = await store.findSession(digests, now - SESSION_LIFE_MS, now - SESSION_IDLE_MS);
  if (found === null) return { session: null };
  const current = digests[0] ?? found.digest;
  if (found.digest !== current || found.seenAt < now - TOUCH_EVERY_MS)
    await store.touchSession(found.digest, current, now);
  const accounts = found.memberships.map(({ account, member }) => ({
    id: account.id,
    name: account.name,
    type: account.type,
    state: account.state,
    role: member.role,
    memberId: member.id,
  }));
  return { session: { user: found.user, accounts } };
}

/** Ends a session, or all sessions of its user. Ending it again changes nothing. */
export async function endSession(
  store: Pick<SignInStore, 'change'>,
  { digests, everywhere, origin }: ReceivedOf<typeof accountsEndSession>,
): Promise<AnswerBodyOf<typeof accountsEndSession>> {
  await store.change(async (tx) => {
    const user = await tx.userOfSession(digests);
    if (user === null) return;
    if (everywhere) {
      // Waits for a session that begins concurrently, which then ends too.
      await tx.lockPerson(user);
      await tx.endSessions(user, []);
    } else await tx.endSession(digests);
    await auditSession(tx, user, origin, everywhere ? 'sign_out_everywhere' : 'sign_out');
  });
  return { ended: true };
}
