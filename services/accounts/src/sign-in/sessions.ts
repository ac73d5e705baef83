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
/** A session ends when it was not used for so long, */
export const SESSION_IDLE_MS = 7 * DAY_MS;
/** and at the latest after this. */
export const SESSION_LIFE_MS = 30 * DAY_MS;
/** Sessions of one person at a time: the oldest ends. */
export const SESSIONS_MAX = 20;

/**
 * Begins a session, if the hash that the password was compared with is still the person's, and
 * takes the counted attempt back.
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

/** A session began or ended. */
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

/** The last use of a session is recorded as exactly as this. */
const TOUCH_EVERY_MS = 300_000;

/**
 * Who has the session of one of the digests, and in which accounts they are. A session that was
 * found by a digest under the previous secret goes on under the current one.
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

/** Ends a session, or all of its person; one that has ended is ended. */
export async function endSession(
  store: Pick<SignInStore, 'change'>,
  { digests, everywhere, origin }: ReceivedOf<typeof accountsEndSession>,
): Promise<AnswerBodyOf<typeof accountsEndSession>> {
  await store.change(async (tx) => {
    const user = await tx.userOfSession(digests);
    if (user === null) return;
    if (everywhere) {
      // A session that begins at this moment is waited for, and ends too.
      await tx.lockPerson(user);
      await tx.endSessions(user, []);
    } else await tx.endSession(digests);
    await auditSession(tx, user, origin, everywhere ? 'sign_out_everywhere' : 'sign_out');
  });
  return { ended: true };
}
