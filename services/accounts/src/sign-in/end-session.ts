import type { accountsEndSession, AnswerBodyOf, ReceivedOf } from '@gateway/contracts/messages';
import type { AccountsStore } from '../ports.js';

/** Ends a session, or all of its person; one that has ended is ended. */
export async function endSession(
  store: Pick<AccountsStore, 'change'>,
  { digests, everywhere }: ReceivedOf<typeof accountsEndSession>,
): Promise<AnswerBodyOf<typeof accountsEndSession>> {
  await store.change(async (tx) => {
    const user = everywhere ? await tx.userOfSession(digests) : null;
    if (user === null) return tx.endSession(digests);
    // A session that begins at this moment is waited for, and ends too.
    await tx.lockPerson(user);
    await tx.endSessions(user, []);
  });
  return { ended: true };
}
