import type { AccountView } from '@gateway/contracts/operator';
import { toAccountView } from '../domain/views.js';
import type { AccountsStore } from '../ports.js';

export interface AccountsPage {
  readonly accounts: AccountView[];
  readonly nextCursor: string | null;
  readonly total: number;
}

/** One page in the order of creation. The cursor is the id of the last account of the page before. */
export async function listAccounts(
  store: AccountsStore,
  { cursor, limit }: { readonly cursor: string | null; readonly limit: number },
): Promise<AccountsPage> {
  const [found, total] = await Promise.all([store.list(cursor, limit + 1), store.countAccounts()]);
  const page = found.slice(0, limit);
  const last = page.at(-1);
  return {
    accounts: page.map(toAccountView),
    nextCursor: found.length > limit && last ? last.account.id : null,
    total,
  };
}
