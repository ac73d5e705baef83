import type { accountsEndSession, AnswerBodyOf, ReceivedOf } from '@gateway/contracts/messages';
import type { AccountsStore } from '../ports.js';
import { auditSession } from './create-session.js';

/** Ends a session, or all of its person; one that has ended is ended. */
export async function endSession(
  store: Pick<AccountsStore, 'change'>,
  { digests, everywhere, ...origin }: ReceivedOf<typeof accountsEndSession>,
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
