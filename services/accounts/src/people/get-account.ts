import { refuse, type AccountView, type ManagementRefusal } from '@gateway/contracts/operator';
import { toAccountView } from '../domain/views.js';
import type { AccountsStore } from '../ports.js';

/** One account with its owner's address. */
export async function getAccount(
  store: Pick<AccountsStore, 'account'>,
  { account: id }: { readonly account: string },
): Promise<{ account: AccountView } | ManagementRefusal> {
  const found = await store.account(id);
  return found ? { account: toAccountView(found) } : refuse('not_found', 'there is no such account');
}
