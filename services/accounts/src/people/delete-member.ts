import type { CommandAuthor, ReceivedOf, accountsDeleteMember } from '@gateway/contracts/messages';
import { refuse, type ManagementRefusal } from '@gateway/contracts/operator';
import { refuseMemberDelete, toMemberView } from './rules.js';
import { withState, toKeyRecord, toKeyView } from '../keys/rules.js';
import type { PeopleStore, PeopleTx } from './store.js';

export interface DeleteMemberDeps {
  readonly store: Pick<PeopleStore, 'change'>;
  readonly nowMs: () => number;
}
export type DeleteMember = ReceivedOf<typeof accountsDeleteMember>;

/**
 * Removes a person from a team. All the member's keys are already revoked or expired, except the
 * playground key, which is revoked here. Deleting the member again changes nothing.
 */
export async function deleteMember(
  { store, nowMs }: DeleteMemberDeps,
  { account, member: id, author }: DeleteMember,
): Promise<{ deleted: true } | ManagementRefusal> {
  return store.change(async (tx) => {
    await tx.lockAccount(account);
    const current = await tx.membership(account, id);
    if (!current)
      return (await tx.hasLeft(account, id))
        ? { deleted: true }
        : refuse('not_found', 'the account has no such member');
    const now = nowMs();
    const refusal = refuseMemberDelete(current.member, await tx.countKeysOfMember(id, now));
    if (refusal) return refusal;
    await tx.deleteMember(id);
    await revokePlaygroundKey(tx, id, author, now);
    const before = toMemberView(current);
    await tx.audit({ author, action: 'delete_member', account, objectId: id, before, after: null });
    return { deleted: true };
  });
}

/**
 * Revokes the playground key. The response does not wait for admission: no person has the secret,
 * and the dashboard uses it for current members only.
 */
async function revokePlaygroundKey(tx: PeopleTx, member: string, author: CommandAuthor, now: number): Promise<void> {
  const key = await tx.playgroundKey(member);
  const next = key && withState(key, 'revoke', now);
  if (!key || !next) return;
  await tx.updateKeyState(next);
  const [before, after] = [toKeyView(key, now), toKeyView(next, now)];
  await tx.audit({ author, action: 'revoke_playground_key', account: key.account, objectId: key.id, before, after });
  await tx.publishChange(key.account, next, { keys: [toKeyRecord(next)] });
}
