import type { accountsFindSession, AnswerBodyOf, ReceivedOf } from '@gateway/contracts/messages';
import type { AccountsStore } from '../ports.js';

export interface FindSessionPorts {
  readonly store: Pick<AccountsStore, 'findSession' | 'noteSession'>;
  readonly nowMs: () => number;
}

const DAY_MS = 86_400_000;
/** A session ends when it was not used for so long, */
export const SESSION_IDLE_MS = 7 * DAY_MS;
/** and at the latest after this. */
export const SESSION_LIFE_MS = 30 * DAY_MS;
/** How exactly it is known when a session was last used. */
const NOTE_EVERY_MS = 300_000;

/**
 * Who has the session of one of the digests, and in which accounts they are. A session that was found by a digest under the
 * previous secret goes on under the current one.
 */
export async function findSession(
  { store, nowMs }: FindSessionPorts,
  { digests }: ReceivedOf<typeof accountsFindSession>,
): Promise<AnswerBodyOf<typeof accountsFindSession>> {
  const now = nowMs();
  const found = await store.findSession(digests, now - SESSION_LIFE_MS, now - SESSION_IDLE_MS);
  if (found === null) return { session: null };
  const current = digests[0] ?? found.digest;
  if (found.digest !== current || found.seenAt < now - NOTE_EVERY_MS)
    await store.noteSession(found.digest, current, now);
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
