import { refuseCursor, type ManagementRefusal, type OperatorView } from '@gateway/contracts/operator';
import { isCursorOf, pageOf } from '../domain/page.js';
import { toOperatorView } from '../domain/views.js';
import type { AccountsStore } from '../ports.js';

/** One page of the operators who can sign in, in the order of creation. */
export async function listOperators(
  store: Pick<AccountsStore, 'operators'>,
  { cursor, limit }: { readonly cursor: string | null; readonly limit: number },
): Promise<{ operators: OperatorView[]; nextCursor: string | null } | ManagementRefusal> {
  if (!isCursorOf('opr', cursor)) return refuseCursor();
  const { items, nextCursor } = pageOf(await store.operators(cursor, limit + 1), limit, ({ id }) => id);
  return { operators: items.map(toOperatorView), nextCursor };
}
