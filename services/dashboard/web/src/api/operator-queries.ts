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
import { readAll, type FullList, type Page } from './read-all.js';

/** Refresh interval of live data. */
const LIVE_MS = 5_000;
const PAGE_MAX = 200;
/** Most pages that a search reads: two thousand entries. */
const SEARCH_PAGES_MAX = 10;

const path = (rest: string) => `/operator/v1${rest}`;

export const useAccounts = () => useList<AccountView>(['operator', 'accounts'], path('/accounts'));

/** Finds accounts whose name, address or ID contains the text. A whole ID is found anywhere. */
export const useAccountSearch = (text: string) =>
  useSearch(
    '/accounts',
    text,
    ({ id, name, email }: AccountView) => `${id} ${name} ${email}`,
    /^acc_/.test(text) ? accountOrNull : undefined,
  );

/** Finds models whose name or ID contains the text. */
export const useModelSearch = (text: string) =>
  useSearch('/models', text, ({ id, displayName }: ModelView) => `${id} ${displayName}`);

/** Searches {@link SEARCH_PAGES_MAX} pages of a list unless `findById` finds the entry. */
const useSearch = <T>(
  list: string,
  text: string,
  textOf: (entry: T) => string,
  findById: (id: string) => Promise<T | null> = () => Promise.resolve(null),
) =>
  useQuery({
    queryKey: ['operator', 'search', list, text],
    async queryFn({ signal }): Promise<FullList<T>> {
      const byId = await findById(text);
      if (byId !== null) return { data: [byId], isWhole: true };
      const { data, isWhole } = await readAll<T>(path(list), SEARCH_PAGES_MAX, signal);
      return { data: data.filter((entry) => textOf(entry).toLowerCase().includes(text)), isWhole };
    },
    enabled: text !== '',
    placeholderData: keepPreviousData,
  });

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
