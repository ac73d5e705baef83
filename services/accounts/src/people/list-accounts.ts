import { refuseCursor, type AccountView, type ManagementRefusal } from '@gateway/contracts/operator';
import { isCursorOf, pageOf } from '../domain/page.js';
import { toAccountView } from '../domain/views.js';
import type { AccountsStore } from '../ports.js';

export interface AccountsPage {
  readonly accounts: AccountView[];
  readonly nextCursor: string | null;
  readonly total: number;
}

/** One page in the order of creation. */
export async function listAccounts(
  store: Pick<AccountsStore, 'list' | 'countAccounts'>,
  { cursor, limit }: { readonly cursor: string | null; readonly limit: number },
): Promise<AccountsPage | ManagementRefusal> {
  if (!isCursorOf('acc', cursor)) return refuseCursor();
  const [found, total] = await Promise.all([store.list(cursor, limit + 1), store.countAccounts()]);
  const { items, nextCursor } = pageOf(found, limit, ({ account }) => account.id);
  return { accounts: items.map(toAccountView), nextCursor, total };
}
