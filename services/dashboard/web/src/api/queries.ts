import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import type {
  AlertView,
  LedgerTransactionView,
  PageMember,
  OverviewView,
  PageKeys,
  PageModels,
  PageSession,
  PageStatement,
  PageUsageRecords,
  PagesConfig,
  Refusals,
  UsageLookup,
  UsageSeries,
  WebhookDeliveryView,
  WebhookView,
} from '@gateway/contracts/pages';
import type { Span } from '../format/range.js';
import { ApiError, setCsrfToken, readOrNull, request } from './request.js';
import type { Query } from './request.js';
import { readAll, type Page } from './read-all.js';

/** How long data is fresh before it is requested again. */
const FRESH_MS = 10_000;
const LIVE_MS = 20_000;
const PAGE_LIMIT = 50;

export const SESSION_KEY = ['session'] as const;

/** Null if no person and no operator is signed in. */
export async function readSession(): Promise<PageSession | null> {
  try {
    const session = await request<PageSession>('/session');
    setCsrfToken(session.csrfToken);
    return session;
  } catch (fault) {
    if (fault instanceof ApiError && fault.status === 401) return null;
    throw fault;
  }
}

export const useSession = () => useQuery({ queryKey: SESSION_KEY, queryFn: readSession, staleTime: 60_000 });

export const useConfig = () =>
  useQuery({
    queryKey: ['config'],
    queryFn: () => request<PagesConfig>('/config'),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** For owners and admins; members do not see the plan and the wallet. */
export const useOverview = (account: string, enabled = true) =>
  useQuery({
    queryKey: ['account', account, 'overview'],
    queryFn: () => request<OverviewView>(`/accounts/${account}/overview`),
    staleTime: FRESH_MS,
    refetchInterval: LIVE_MS,
    enabled,
  });

export type SeriesGroup = 'none' | 'model' | 'key' | 'member';

export const useSeries = (account: string, span: Span, groupBy: SeriesGroup) =>
  useQuery({
    queryKey: ['account', account, 'series', span.from, span.to, span.by, groupBy],
    queryFn: (): Promise<UsageSeries> => {
      const query = { from: span.from, to: span.to, by: span.by, groupBy };
      return request<UsageSeries>(`/accounts/${account}/usage-series`, { query });
    },
    staleTime: FRESH_MS,
    refetchInterval: LIVE_MS,
    placeholderData: keepPreviousData,
  });

/** Refused requests are kept for 35 days, so a longer span is shortened. */
const REFUSED_MS_MAX = 35 * 86_400_000;

export const useRefusals = (account: string, span: Span) => {
  const from = new Date(Math.max(Date.parse(span.from), Date.parse(span.to) - REFUSED_MS_MAX)).toISOString();
  return useQuery({
    queryKey: ['account', account, 'refusals', from, span.to],
    queryFn: () => request<Refusals>(`/accounts/${account}/refusals`, { query: { from, to: span.to } }),
    staleTime: FRESH_MS,
    refetchInterval: LIVE_MS,
    placeholderData: keepPreviousData,
  });
};

export const useKeys = (account: string) =>
  useQuery({ queryKey: ['account', account, 'keys'], queryFn: () => readAllKeys(account), staleTime: FRESH_MS });

/** Most pages of keys that are read at once: a thousand keys. */
const KEY_PAGES_MAX = 5;
async function readAllKeys(account: string): Promise<PageKeys> {
  const first = await request<PageKeys>(`/accounts/${account}/keys`, { query: { limit: 200 } });
  const data = [...first.data];
  let cursor = first.next_cursor;
  for (let page = 1; cursor !== null && page < KEY_PAGES_MAX; page += 1) {
    const next: PageKeys = await request(`/accounts/${account}/keys`, { query: { limit: 200, cursor } });
    data.push(...next.data);
    cursor = next.next_cursor;
  }
  return { ...first, data, next_cursor: cursor };
}

export interface UsageFilters {
  readonly from?: string;
  readonly to?: string;
  readonly keyId?: string;
  readonly memberId?: string;
  readonly modelId?: string;
  readonly outcome?: string;
}

/** A list that is loaded page by page. A prefix of `queryKey` invalidates it. */
export function useList<T>(queryKey: readonly unknown[], path: string, query: Query = {}, enabled = true) {
  return useInfiniteQuery({
    queryKey: [...queryKey, query],
    queryFn: ({ pageParam, signal }) =>
      request<Page<T>>(path, { query: { ...query, limit: PAGE_LIMIT, cursor: pageParam }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    staleTime: FRESH_MS,
    placeholderData: keepPreviousData,
    enabled,
  });
}

export const useUsageRecords = (account: string, filters: UsageFilters) =>
  useList<PageUsageRecords['data'][number]>(['account', account, 'usage'], `/accounts/${account}/usage-records`, {
    ...filters,
  });

export const useUsageLookup = (account: string, requestId: string | null) =>
  useQuery({
    queryKey: ['account', account, 'lookup', requestId],
    queryFn: () => request<UsageLookup>(`/accounts/${account}/usage-records/${encodeURIComponent(requestId ?? '')}`),
    enabled: requestId !== null,
    retry: false,
  });

export const useLedger = (account: string, calls: 'with' | 'without') =>
  useList<LedgerTransactionView>(['account', account, 'ledger'], `/accounts/${account}/ledger`, { calls });

export const useStatement = (account: string, month: string) =>
  useQuery({
    queryKey: ['account', account, 'statement', month],
    queryFn: () => request<PageStatement>(`/accounts/${account}/statement`, { query: { month } }),
    staleTime: FRESH_MS,
    placeholderData: keepPreviousData,
  });

export const useAlerts = (account: string) =>
  useList<AlertView>(['account', account, 'alerts'], `/accounts/${account}/alerts`);

/** Null if the account has no webhook. */
export const useWebhook = (account: string) =>
  useQuery({
    queryKey: ['account', account, 'webhook'],
    queryFn: () => readOrNull(request<WebhookView>(`/accounts/${account}/webhook`)),
    staleTime: FRESH_MS,
  });

export const useDeliveries = (account: string, enabled: boolean) =>
  useList<WebhookDeliveryView>(
    ['account', account, 'deliveries'],
    `/accounts/${account}/webhook/deliveries`,
    {},
    enabled,
  );

export const useModels = (account: string) =>
  useQuery({
    queryKey: ['account', account, 'models'],
    queryFn: async () => (await request<PageModels>(`/accounts/${account}/models`)).data,
    staleTime: 60_000,
  });

/** Most pages of members that are read at once: two thousand members. */
const MEMBER_PAGES_MAX = 10;

export const useMembers = (account: string, enabled = true) =>
  useQuery({
    queryKey: ['account', account, 'members'],
    queryFn: ({ signal }) => readAll<PageMember>(`/accounts/${account}/members`, MEMBER_PAGES_MAX, signal),
    staleTime: FRESH_MS,
    enabled,
  });

/** Returns a function that reloads all data of an account after a change. */
export function useRefreshAccount(account: string): () => Promise<void> {
  const client = useQueryClient();
  return () => client.invalidateQueries({ queryKey: ['account', account] });
}
