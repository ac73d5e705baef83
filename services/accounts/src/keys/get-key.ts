import type { KeyView, ManagementRefusal } from '@gateway/contracts/operator';
import { toKeyView } from '../domain/views.js';
import type { AccountsStore } from '../ports.js';
import { noSuchKey } from './lock-own-key.js';

/** One key as it is now; the playground key is not shown. */
export async function getKey(
  store: Pick<AccountsStore, 'key'>,
  { key: id }: { readonly key: string },
  nowMs: number,
): Promise<{ key: KeyView } | ManagementRefusal> {
  const key = await store.key(id);
  return key ? { key: toKeyView(key, nowMs) } : noSuchKey();
}
