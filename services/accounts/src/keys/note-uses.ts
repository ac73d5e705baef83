import type { AccountsStore } from '../ports.js';

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
