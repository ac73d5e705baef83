import { refuseCursor, refuse, type KeyView, type ManagementRefusal } from '@gateway/contracts/operator';
import { isCursorOf, pageOf } from '../rules.js';
import { toKeyView } from '../view-rules.js';
import type { AccountsStore } from '../ports.js';
import { noSuchKey } from './change-key.js';

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

/** One key as it is now; the playground key is not shown. */
export async function getKey(
  store: Pick<AccountsStore, 'key'>,
  { key: id }: { readonly key: string },
  nowMs: number,
): Promise<{ key: KeyView } | ManagementRefusal> {
  const key = await store.key(id);
  return key ? { key: toKeyView(key, nowMs) } : noSuchKey();
}

/** Which key a secret belongs to now; a rotated-away one belongs to none. Its state is not judged here. */
export async function findKey(
  store: AccountsStore,
  { digests }: { readonly digests: readonly string[] },
): Promise<{ found: { account: string; key: string; digest: string } | null }> {
  const key = await store.findKey(digests);
  return { found: key && { account: key.account, key: key.id, digest: key.digest } };
}

export interface KeyUse {
  readonly key: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/**
 * Keeps when keys were last used. Reports come late, twice and in any order: only a later time wins. A time ahead of this
 * machine's clock counts as now, or one wrong report would hide all that follow.
 */
export async function noteUses(
  store: Pick<AccountsStore, 'noteUses'>,
  { uses }: { readonly uses: readonly KeyUse[] },
  nowMs: number,
): Promise<void> {
  const last = new Map<string, number>();
  for (const { key, at } of uses) last.set(key, Math.max(last.get(key) ?? 0, Math.min(at, nowMs)));
  await store.noteUses(last);
}
