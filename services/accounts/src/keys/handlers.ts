import type { Bus } from '@gateway/bus';
import {
  accountsCreateKey,
  accountsEnsurePlaygroundKey,
  accountsFind,
  accountsGetKey,
  accountsKeyCreation,
  accountsListKeys,
  accountsRotateKey,
  accountsSetKeyState,
  keysUsed,
  type ReceivedOf,
} from '@gateway/contracts/messages';
import { refuseCursor, refuse, type KeyView, type ManagementRefusal } from '@gateway/contracts/operator';
import type { Handlers } from '../base/serve.js';
import { createKey, keyCreation, type CreateKeyDeps } from './create-key.js';
import { rotateKey, setKeyState } from './change-key.js';
import { ensurePlaygroundKey, type EnsurePlaygroundKeyDeps } from './ensure-playground-key.js';
import { isCursorOf, pageOf } from '../base/rules.js';
import { toKeyView, noSuchKey } from './rules.js';
import type { KeyStore } from './store.js';

export type ListKeys = ReceivedOf<typeof accountsListKeys>;

/** Returns one page of an account's keys in all states, oldest first, without playground keys. */
export async function listKeys(
  store: Pick<KeyStore, 'account' | 'keys'>,
  { account, member, cursor, limit }: ListKeys,
  nowMs: number,
): Promise<{ keys: KeyView[]; nextCursor: string | null } | ManagementRefusal> {
  if (!isCursorOf('key', cursor)) return refuseCursor();
  const found = await store.keys(account, member ?? null, cursor, limit + 1);
  if (found.length === 0 && !(await store.account(account))) return refuse('not_found', 'there is no such account');
  const { items, nextCursor } = pageOf(found, limit, ({ id }) => id);
  return { keys: items.map((key) => toKeyView(key, nowMs)), nextCursor };
}

/** Returns the current state of one key. Playground keys are not found. */
export async function getKey(
  store: Pick<KeyStore, 'key'>,
  { key: id }: { readonly key: string },
  nowMs: number,
): Promise<{ key: KeyView } | ManagementRefusal> {
  const key = await store.key(id);
  return key ? { key: toKeyView(key, nowMs) } : noSuchKey();
}

/**
 * Returns the key that has one of the digests now. A rotated secret is not found. The key's state
 * is not checked here.
 */
export async function findKey(
  store: KeyStore,
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
 * Stores the times when keys were last used. Reports may be late, repeated and in any order; only a
 * later time wins. A time after this machine's clock counts as now, because it would otherwise hide
 * all later reports.
 */
export async function recordUses(
  store: Pick<KeyStore, 'recordUses'>,
  { uses }: { readonly uses: readonly KeyUse[] },
  nowMs: number,
): Promise<void> {
  const last = new Map<string, number>();
  for (const { key, at } of uses) last.set(key, Math.max(last.get(key) ?? 0, Math.min(at, nowMs)));
  await store.recordUses(last);
}

const REPORTS_AT_ONCE_MAX = 16;

/** Registers the handlers of key requests and of reports about last uses. */
export function serveKeys(
  bus: Bus,
  { lookup, change, awaited }: Handlers,
  deps: CreateKeyDeps & EnsurePlaygroundKeyDeps & { readonly store: KeyStore },
): void {
  const { store, nowMs } = deps;
  lookup(accountsFind, (body) => findKey(store, body));
  lookup(accountsGetKey, (body) => getKey(store, body, nowMs()));
  lookup(accountsListKeys, (body) => listKeys(store, body, nowMs()));
  lookup(accountsKeyCreation, (body) => keyCreation(deps, body));
  change(accountsCreateKey, (body) => createKey(deps, body));
  awaited(accountsRotateKey, (body) => rotateKey(deps, body));
  awaited(accountsSetKeyState, (body) => setKeyState(deps, body));
  awaited(accountsEnsurePlaygroundKey, (body) => ensurePlaygroundKey(deps, body));
  bus.subscribe(keysUsed, (body) => recordUses(store, body, nowMs()), { concurrencyMax: REPORTS_AT_ONCE_MAX });
}
