import { refuse, type ManagementRefusal } from '@gateway/contracts/operator';
import { toOperatorView } from '../domain/views.js';
import type { AccountsStore } from '../ports.js';

/** Ends an operator's access, from the next request on. Deleting one who is deleted already changes nothing. */
export async function deleteOperator(
  store: Pick<AccountsStore, 'change'>,
  { operator: id, actor }: { readonly operator: string; readonly actor: string },
): Promise<{ deleted: true } | ManagementRefusal> {
  return store.change(async (tx) => {
    const found = await tx.lockOperator(id);
    if (!found) return refuse('not_found', 'there is no such operator');
    if (found.deleted) return { deleted: true };
    await tx.deleteOperator(id);
    const before = toOperatorView(found.operator);
    await tx.audit({ actor, action: 'delete_operator', account: null, objectId: id, before, after: null });
    return { deleted: true };
  });
}
