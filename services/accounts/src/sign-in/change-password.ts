import type { accountsChangePassword, AnswerBodyOf, ReceivedOf } from '@gateway/contracts/messages';
import type { BeginSignInPorts } from './begin-sign-in.js';
import { takeBackSignIn } from './begin-sign-in.js';
import { queueNotice } from './queue-notice.js';

/** Sets another password, if the hash that the old one was compared with is still the person's; other sessions end. */
export async function changePassword(
  { store, nowMs }: BeginSignInPorts,
  { user, comparedHash, newHash, digests, ...origin }: ReceivedOf<typeof accountsChangePassword>,
): Promise<AnswerBodyOf<typeof accountsChangePassword>> {
  return store.change(async (tx) => {
    const person = await tx.lockPerson(user);
    if (person?.passwordHash !== comparedHash) return { changed: false };
    await tx.setPassword(user, newHash);
    await tx.endSessions(user, digests);
    await tx.forgetMailTokens(user, 'reset');
    await takeBackSignIn(tx, person.email, origin.client);
    await queueNotice(tx, { notice: 'password_changed', user }, nowMs());
    const entry = { action: 'change_password', account: null, objectId: user, before: null, after: null };
    await tx.audit({ actor: `user:${user}`, ...entry, origin });
    return { changed: true };
  });
}
