import type { ManagementRefusal } from '@gateway/contracts/operator';
import { refuseMemberDelete } from '../domain/members.js';
import { refuse } from '../domain/refusal.js';
import { toMemberView } from '../domain/views.js';
import type { AccountsStore } from '../ports.js';

export interface DeleteMemberPorts {
  readonly store: Pick<AccountsStore, 'change'>;
  readonly nowMs: () => number;
}
export interface DeleteMember {
  readonly account: string;
  readonly member: string;
  readonly actor: string;
}

/**
 * Takes a person out of a team. Admission need not know: none of the member's keys can be used any more. Deleting one who
 * left already changes nothing.
 */
export async function deleteMember(
  { store, nowMs }: DeleteMemberPorts,
  { account, member: id, actor }: DeleteMember,
): Promise<{ deleted: true } | ManagementRefusal> {
  return store.change(async (tx) => {
    await tx.lockAccount(account);
    const current = await tx.membership(account, id);
    if (!current)
      return (await tx.hasLeft(account, id))
        ? { deleted: true }
        : refuse('not_found', 'the account has no such member');
    const refusal = refuseMemberDelete(current.member, await tx.countKeysOfMember(id, nowMs()));
    if (refusal) return refusal;
    await tx.deleteMember(id);
    const before = toMemberView(current);
    await tx.audit({ actor, action: 'delete_member', account, objectId: id, before, after: null });
    return { deleted: true };
  });
}
