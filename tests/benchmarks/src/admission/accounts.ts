import { buildCatalogView } from '@gateway/admission/admit/catalog-view-rules.js';
import type { Owners } from '@gateway/admission/ports.js';
import { NO_KEY_TERMS } from '@gateway/contracts/operator';
import { MODEL, PRICE } from '../billing/events.js';

const MONTH_MS = 30 * 86_400_000;
const DAY_MS = 86_400_000;
export const ENOUGH_NANO_USD = 8_000_000_000_000_000;
export const LEDGER_EPOCH = '0192a000-1ed6-7000-8000-00000000beef';
export const ENDPOINT = '/v1/chat/completions';

/** A number determines an account, its key, its member and its digest. */
const idOf = (n: number, kind: string): string => `01928f00-${kind}-7000-8000-${n.toString(16).padStart(12, '0')}`;
export const digestOf = (n: number): string => n.toString(16).padStart(64, '0');
const accountOf = (n: number): string => idOf(n, 'acc0');
const keyOf = (n: number): string => idOf(n, 'ce10');
const memberOf = (n: number): string => idOf(n, '3e30');

/** Terms of a wallet account, or of a plan with a window of each type and its own period. */
function createTerms(n: number, withPlan: boolean, now: number) {
  const limits = { requestsPerMinute: 1_000_000_000, concurrency: 1_000_000, allotments: [] };
  if (!withPlan) return { ...limits, plan: null, models: [], windows: [], subscription: null };
  const windows = (['session_5h', 'weekly', 'monthly'] as const).map((type) => ({
    type,
    unit: 'usd' as const,
    limit: ENOUGH_NANO_USD,
    label: type,
  }));
  const start = now - (n % 1_000) - DAY_MS;
  const subscription = { id: idOf(n, '5b50'), start, end: start + DAY_MS + MONTH_MS };
  return { ...limits, plan: { id: 'plan-pro', name: 'Pro', tier: 'pro' }, models: null, windows, subscription };
}

/** Returns the records of accounts. */
function createRecords(n: number) {
  const [account, key, member] = [accountOf(n), keyOf(n), memberOf(n)];
  return {
    account: { account, state: 'active' as const, version: 1 },
    key: {
      account,
      key,
      member,
      kind: 'api' as const,
      digest: digestOf(n),
      state: 'active' as const,
      expiresAt: null,
      capNanoUsd: null,
      ...NO_KEY_TERMS,
      version: 1,
    },
    member: { account, member, capNanoUsd: null, version: 1 },
  };
}

/** Returns billing's snapshot of an account. Balances requested by name were never written. */
function createSnapshot(n: number, withPlan: boolean, now: number, names: readonly string[]) {
  const rows = names.filter((name) => name !== 'wallet').map((name) => ({ name, value: null, version: 0 }));
  return {
    account: accountOf(n),
    rows: [{ name: 'wallet', value: ENOUGH_NANO_USD, version: 1 }, ...rows],
    terms: { value: createTerms(n, withPlan, now), version: 1 },
    closed: [] as string[],
  };
}

/** Returns the owners that admission queries. They respond at once, and accounts never change. */
export function createOwners(withPlan: boolean): Owners {
  const begun = Date.now();
  const numberOf = (id: string): number => Number.parseInt(id.slice(-12), 16);
  return {
    find: async ([digest = '']) => {
      const n = Number.parseInt(digest, 16);
      return { account: accountOf(n), key: keyOf(n), digest };
    },
    loadAccount: async (account, key) => {
      const records = createRecords(numberOf(account));
      return { account: records.account, key: key === null ? null : records.key, member: records.member };
    },
    loadBalances: async ({ account, names, ids }) => ({
      ledgerEpoch: LEDGER_EPOCH,
      snapshot: { ...createSnapshot(numberOf(account), withPlan, begun, names), closed: [...ids] },
      caughtUpTo: Date.now(),
      version: 1,
    }),
    unchangedBalances: async () => ({ ledgerEpoch: LEDGER_EPOCH, accounts: [] }),
    unchangedRecords: async () => ({ accounts: [] }),
  };
}

/** The catalog with one priced model and one source. */
export const CATALOG = buildCatalogView(
  [
    {
      v: 1,
      id: MODEL,
      displayName: 'Large',
      active: true,
      available: true,
      kind: 'chat',
      contextLength: null,
      maxOutputTokens: null,
      bytesPerToken: 3,
      createdAt: 0,
      prices: [{ ...PRICE, effectiveFrom: 0 }],
    },
  ],
  [
    {
      v: 1,
      id: 'source-1',
      model: MODEL,
      provider: 'acme',
      baseUrl: 'http://127.0.0.1:1',
      upstreamModel: 'large',
      endpoints: [ENDPOINT],
      paths: {},
      auth: { type: 'bearer' },
      sealedCredential: null,
      headers: {},
      betas: 'pass',
      priority: 1,
      weight: 1,
      enabled: true,
      streamUsage: true,
      cancelStopsBilling: false,
      costs: [],
      limits: { headersTimeoutMs: null, firstEventTimeoutMs: null, silenceTimeoutMs: null },
    },
  ],
);
