import { refuseCursor, refuse, type ManagementRefusal, type MemberView } from '@gateway/contracts/operator';
import { isCursorOf, pageOf } from '../rules.js';
import { toMemberView } from '../view-rules.js';
import type { AccountsStore } from '../ports.js';

/** One page of an account's members, the owner first, then in the order of coming. */
export async function listMembers(
  store: Pick<AccountsStore, 'account' | 'members'>,
  { account, cursor, limit }: { readonly account: string; readonly cursor: string | null; readonly limit: number },
): Promise<{ members: MemberView[]; nextCursor: string | null } | ManagementRefusal> {
  if (!isCursorOf('mem', cursor)) return refuseCursor();
  const found = await store.members(account, cursor, limit + 1);
  if (found.length === 0 && !(await store.account(account))) return refuse('not_found', 'there is no such account');
  const { items, nextCursor } = pageOf(found, limit, ({ member }) => member.id);
  return { members: items.map(toMemberView), nextCursor };
}
