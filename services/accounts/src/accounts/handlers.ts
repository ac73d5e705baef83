import {
  accountsCloseAccount,
  accountsCreateAccount,
  accountsGetAccount,
  accountsListAccounts,
  accountsLoad,
  accountsNames,
  accountsSetAccountState,
  accountsUnchanged,
  type AnswerBodyOf,
  type ReceivedOf,
  type AccountRecord,
  type KeyRecord,
  type MemberRecord,
} from '@gateway/contracts/messages';
import { refuseCursor, type AccountView, type ManagementRefusal, refuse } from '@gateway/contracts/operator';
import type { Handlers } from '../base/serve.js';
import { closeAccount, type CloseAccountDeps } from './close-account.js';
import { createAccount, type CreateAccountDeps } from './create-account.js';
import { setAccountState } from './set-account-state.js';
import { isCursorOf, pageOf } from '../base/rules.js';
import { toAccountView, toAccountRecord } from './rules.js';
import { toKeyRecord } from '../keys/rules.js';
import { toMemberRecord } from '../people/rules.js';
import type { AccountStore } from './store.js';

export interface AccountsPage {
  readonly accounts: AccountView[];
  readonly nextCursor: string | null;
  readonly total: number;
}

/** Returns one page of accounts in the order of creation, or the account of an external ID. */
export async function listAccounts(
  store: Pick<AccountStore, 'list' | 'countAccounts' | 'accountOfExternalId'>,
  { externalId, cursor, limit }: ReceivedOf<typeof accountsListAccounts>,
): Promise<AccountsPage | ManagementRefusal> {
  if (!isCursorOf('acc', cursor)) return refuseCursor();
  if (externalId !== undefined) {
    const named = await store.accountOfExternalId(externalId);
    return { accounts: named ? [toAccountView(named)] : [], nextCursor: null, total: named ? 1 : 0 };
  }
  const [found, total] = await Promise.all([store.list(cursor, limit + 1), store.countAccounts()]);
  const { items, nextCursor } = pageOf(found, limit, ({ account }) => account.id);
  return { accounts: items.map(toAccountView), nextCursor, total };
}

/** Returns one account with its owner's address. */
export async function getAccount(
  store: Pick<AccountStore, 'account'>,
  { account: id }: { readonly account: string },
): Promise<{ account: AccountView } | ManagementRefusal> {
  const found = await store.account(id);
  return found ? { account: toAccountView(found) } : refuse('not_found', 'there is no such account');
}

/** Returns the names of IDs in usage and statements. IDs of other accounts are omitted. */
export async function findNames(
  store: Pick<AccountStore, 'names'>,
  { account, keys, members }: ReceivedOf<typeof accountsNames>,
): Promise<AnswerBodyOf<typeof accountsNames>> {
  const names = await store.names(account, keys, members);
  return {
    keys: names.keys.map(({ id, name, kind, member, email }) => ({ id, name, kind, member, email })),
    members: names.members.map(({ id, email }) => ({ id, email })),
  };
}

export interface AccountRecords {
  readonly account: AccountRecord | null;
  readonly key: KeyRecord | null;
  readonly member: MemberRecord | null;
}

/** Loads an account's records and a key's in one snapshot (docs/protocol.md#r11). */
export async function loadAccount(
  store: AccountStore,
  request: { readonly account: string; readonly key: string | null },
): Promise<AccountRecords> {
  const { account, key, member } = await store.load(request.account, request.key);
  return {
    account: account && toAccountRecord(account),
    key: key && toKeyRecord(key),
    member: member && toMemberRecord(member),
  };
}

/** Registers the handlers of account requests. */
export function serveAccounts(
  { lookup, change, awaited }: Handlers,
  deps: CreateAccountDeps & CloseAccountDeps & { readonly store: AccountStore },
): void {
  const { store } = deps;
  lookup(accountsLoad, (body) => loadAccount(store, body));
  lookup(accountsUnchanged, async ({ accounts }) => ({ accounts: await store.unchanged(accounts) }));
  lookup(accountsGetAccount, (body) => getAccount(store, body));
  lookup(accountsListAccounts, (body) => listAccounts(store, body));
  lookup(accountsNames, (body) => findNames(store, body));
  change(accountsCreateAccount, (body) => createAccount(deps, body));
  awaited(accountsSetAccountState, (body) => setAccountState(deps, body));
  awaited(accountsCloseAccount, (body) => closeAccount(deps, body));
}
