import type { accountsNoteAccess, AnswerBodyOf, ReceivedOf } from '@gateway/contracts/messages';
import { timeText } from '../domain/views.js';
import type { AccountsStore } from '../ports.js';

/** Writes what was answered without a change, and refused attempts as their counts, all or nothing. */
export async function noteAccess(
  store: Pick<AccountsStore, 'change'>,
  { entries }: ReceivedOf<typeof accountsNoteAccess>,
): Promise<AnswerBodyOf<typeof accountsNoteAccess>> {
  await store.change(async (tx) => {
    for (const entry of entries) {
      const { kind, actor, action, account, objectId, origin } = entry;
      const after = entry.kind === 'access' ? null : { attempts: entry.attempts, since: timeText(entry.since) };
      await tx.audit({ kind, actor, action, account, objectId, origin, before: null, after });
    }
  });
  return { noted: true };
}
