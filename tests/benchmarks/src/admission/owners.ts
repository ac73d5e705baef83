import type { CatalogView } from '@gateway/admission/admit/catalog-view-rules.js';
import type { Owners } from '@gateway/admission/ports.js';
import { type AccountTerms, type CatalogModel, TERMS_WITHOUT_PLAN } from '@gateway/contracts/messages';
import { NO_KEY_TERMS } from '@gateway/contracts/operator';
import { boundFigures } from '@gateway/metering';
import { MODEL, PRICE } from '../billing/events.js';

const DAY_MS = 86_400_000;
export const ENOUGH_NANO_USD = 8_000_000_000_000_000;
export const LEDGER_EPOCH = '0192a000-1ed6-7000-8000-00000000beef';
export const ENDPOINT = '/v1/chat/completions' as const;

/** A number determines an account, its key, its member and its digest. */
const idOf = (n: number, kind: string): string => `01928f00-${kind}-7000-8000-${n.toString(16).padStart(12, '0')}`;
const numberOf = (id: string): number => Number.parseInt(id.slice(-12), 16);
export const digestOf = (n: number): string => n.toString(16).padStart(64, '0');

/** Terms of a wallet account, or of a plan with a window of each type and its own period. */
function createTerms(n: number, withPlan: boolean, now: number): AccountTerms {
  const terms = { ...TERMS_WITHOUT_PLAN, requestsPerMinute: 1_000_000_000, concurrency: 1_000_000 };
  if (!withPlan) return terms;
  const windows = (['session_5h', 'weekly', 'monthly'] as const).map((type) => {
    return { type, unit: 'usd' as const, limit: ENOUGH_NANO_USD, label: type };
  });
  const start = now - (n % 1_000) - DAY_MS;
  const subscription = { id: idOf(n, '5b50'), start, end: start + 31 * DAY_MS };
  return { ...terms, plan: { id: 'plan-pro', name: 'Pro', tier: 'pro' }, models: null, windows, subscription };
}

/** Returns the owners that admission queries. They respond at once, and accounts never change. */
export function createOwners(withPlan: boolean): Owners {
  const begun = Date.now();
  return {
    find: async ([digest = '']) => {
      const n = numberOf(digest);
      return { account: idOf(n, 'acc0'), key: idOf(n, 'ce10'), digest };
    },
    loadAccount: async (account, key) => {
      const n = numberOf(account);
      const member = { account, member: idOf(n, '3e30'), capNanoUsd: null, version: 1 };
      const state = 'active' as const;
      const terms = { kind: 'api' as const, digest: digestOf(n), state, expiresAt: null, ...NO_KEY_TERMS };
      return {
        account: { account, state, version: 1 },
        key: key === null ? null : { ...member, ...terms, key },
        member,
      };
    },
    // Balances requested by name were never written.
    loadBalances: async ({ account, names, ids }) => {
      const rows = names.map((name) => ({ name, value: null, version: 0 }));
      const wallet = { name: 'wallet', value: ENOUGH_NANO_USD, version: 1 };
      const snapshot = {
        account,
        rows: [wallet, ...rows.filter(({ name }) => name !== 'wallet')],
        terms: { value: createTerms(numberOf(account), withPlan, begun), version: 1 },
        closed: [...ids],
      };
      return { ledgerEpoch: LEDGER_EPOCH, snapshot, caughtUpTo: Date.now(), version: 1 };
    },
    unchangedBalances: async () => ({ ledgerEpoch: LEDGER_EPOCH, accounts: [] }),
    unchangedRecords: async () => ({ accounts: [] }),
  };
}

const LARGE: CatalogModel = {
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
};
/** The catalog with one priced model and one source. */
export const CATALOG: CatalogView = new Map([
  [
    MODEL,
    {
      model: LARGE,
      hasSources: true,
      endpoints: new Set([ENDPOINT]),
      enabledSources: new Map([[ENDPOINT, ['source-1']]]),
      figures: new Map([[ENDPOINT, boundFigures(LARGE, [])]]),
    },
  ],
]);
