import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type {
  AccountView,
  AliasView,
  AuditEntryView,
  AuditKind,
  KeyView,
  ModelView,
  SlotView,
  SourceHealthView,
  SourceView,
  SubscriptionView,
} from '@gateway/contracts/pages';
import { readOrNull, request } from './request.js';
import { useList } from './queries.js';
import { readAll, type Page } from './read-all.js';

/** Refresh interval of live data. */
const LIVE_MS = 5_000;
const PAGE_MAX = 200;
/** Most pages that a search reads: two thousand accounts. Others are found by ID. */
const SEARCH_PAGES_MAX = 10;

const path = (rest: string) => `/operator/v1${rest}`;

export const useAccounts = () => useList<AccountView>(['operator', 'accounts'], path('/accounts'));

/** Finds accounts whose name, address or ID contains the text. */
export const useAccountSearch = (text: string) =>
  useQuery({
    queryKey: ['operator', 'search', text],
    queryFn: ({ signal }) => searchAccounts(text, signal),
    enabled: text !== '',
    placeholderData: keepPreviousData,
  });

async function searchAccounts(text: string, signal: AbortSignal): Promise<{ found: AccountView[]; isWhole: boolean }> {
  const byId = /^acc_/.test(text) ? await accountOrNull(text) : null;
  if (byId !== null) return { found: [byId], isWhole: true };
  const found: AccountView[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < SEARCH_PAGES_MAX; page += 1) {
    const answer: Page<AccountView> = await request(path('/accounts'), { query: { limit: PAGE_MAX, cursor }, signal });
    found.push(...answer.data.filter(({ id, name, email }) => `${id} ${name} ${email}`.toLowerCase().includes(text)));
    cursor = answer.next_cursor;
    if (cursor === null) return { found, isWhole: true };
  }
  return { found, isWhole: false };
}

export const useAccount = (id: string) =>
  useQuery({
    queryKey: ['operator', 'account', id],
    queryFn: () => request<AccountView>(path(`/accounts/${encodeURIComponent(id)}`)),
  });

export const useAccountWallet = (id: string) =>
  useQuery({
    queryKey: ['operator', 'account', id, 'wallet'],
    queryFn: () =>
      request<{ balanceUsd: string | null; heldUsd: string }>(path(`/accounts/${encodeURIComponent(id)}/wallet`)),
  });

/** Null if the account has no subscription. */
export const useSubscription = (id: string) =>
  useQuery({
    queryKey: ['operator', 'account', id, 'subscription'],
    queryFn: () => readOrNull(request<SubscriptionView>(path(`/accounts/${encodeURIComponent(id)}/subscription`))),
  });

export const useAccountKeys = (id: string) =>
  useList<KeyView>(['operator', 'account', id, 'keys'], path(`/accounts/${encodeURIComponent(id)}/keys`));

export const useCatalogModels = () => useList<ModelView>(['operator', 'models'], path('/models'));
export const ALIASES_KEY = ['operator', 'aliases'];
export const useAliases = () => useList<AliasView>(ALIASES_KEY, path('/aliases'));
export const useSources = () => useList<SourceView>(['operator', 'sources'], path('/sources'));
/** A null account or kind means all of them. */
export const useAudit = (accountId: string | null, kind: AuditKind | null) =>
  useList<AuditEntryView>(['operator', 'audit'], path('/audit'), {
    ...(accountId !== null && { accountId }),
    ...(kind !== null && { kind }),
  });

/** Most pages of health that are read: ten thousand entries, one per source and edge. */
const HEALTH_PAGES_MAX = 50;

export const useSourceHealth = () =>
  useQuery({
    queryKey: ['operator', 'health'],
    queryFn: ({ signal }) => readAll<SourceHealthView>(path('/sources/health'), HEALTH_PAGES_MAX, signal),
    refetchInterval: LIVE_MS,
  });

export const useSlots = () =>
  useQuery({
    queryKey: ['operator', 'slots'],
    queryFn: () => request<Page<SlotView>>(path('/slots'), { query: { limit: PAGE_MAX } }),
    refetchInterval: LIVE_MS,
  });

async function accountOrNull(id: string): Promise<AccountView | null> {
  return readOrNull(request<AccountView>(path(`/accounts/${encodeURIComponent(id)}`)));
}
