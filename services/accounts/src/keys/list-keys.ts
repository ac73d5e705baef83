import { refuseCursor, refuse, type KeyView, type ManagementRefusal } from '@gateway/contracts/operator';
import { isCursorOf, pageOf } from '../domain/page.js';
import { toKeyView } from '../domain/views.js';
import type { AccountsStore } from '../ports.js';

export interface ListKeys {
  readonly account: string;
  /** Absent: of all members. */
  readonly member?: string | undefined;
  readonly cursor: string | null;
  readonly limit: number;
}

/** One page of an account's keys, the newest last, in every state; without the playground key. */
export async function listKeys(
  store: Pick<AccountsStore, 'account' | 'keys'>,
  { account, member, cursor, limit }: ListKeys,
  nowMs: number,
): Promise<{ keys: KeyView[]; nextCursor: string | null } | ManagementRefusal> {
  if (!isCursorOf('key', cursor)) return refuseCursor();
  const found = await store.keys(account, member ?? null, cursor, limit + 1);
  if (found.length === 0 && !(await store.account(account))) return refuse('not_found', 'there is no such account');
  const { items, nextCursor } = pageOf(found, limit, ({ id }) => id);
  return { keys: items.map((key) => toKeyView(key, nowMs)), nextCursor };
}
