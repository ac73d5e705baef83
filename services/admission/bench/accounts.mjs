// Accounts that the owners in this benchmark know. A number determines an account, its key, its
// member and its digest.
import { NO_KEY_TERMS } from '@gateway/contracts/operator';

const HEX_DIGITS = 64;
const MONTH_MS = 30 * 86_400_000;
export const ENOUGH_NANO_USD = 8_000_000_000_000_000;

export const MODEL = 'acme/large';
export const ENDPOINT = '/v1/chat/completions';
export const digestOf = (number) => number.toString(16).padStart(HEX_DIGITS, '0');
const idOf = (number, kind) => `01928f00-${kind}-7000-8000-${number.toString(16).padStart(12, '0')}`;
export const accountOf = (number) => idOf(number, 'acc0');
export const keyOf = (number) => idOf(number, 'ce10');
export const memberOf = (number) => idOf(number, '3e30');
const numberOf = (id) => Number.parseInt(id.slice(-12), 16);

const WALLET_TERMS = {
  plan: null,
  requestsPerMinute: 1_000_000_000,
  concurrency: 1_000_000,
  models: [],
  windows: [],
  allotments: [],
  subscription: null,
};

/** Terms of a plan with a window of each type. The period differs per account. */
function planTerms(number, now) {
  const window = (type, limit) => ({ type, unit: 'usd', limit, label: type });
  const [start, end] = [now - (number % 1_000) - 86_400_000, now + MONTH_MS - (number % 1_000)];
  return {
    ...WALLET_TERMS,
    plan: { id: 'plan-pro', name: 'Pro', tier: 'pro' },
    models: null,
    windows: [
      window('session_5h', ENOUGH_NANO_USD),
      window('weekly', ENOUGH_NANO_USD),
      window('monthly', ENOUGH_NANO_USD),
    ],
    subscription: { id: idOf(number, '5b50'), start, end },
  };
}

export function recordsOf(number) {
  const [account, key, member] = [accountOf(number), keyOf(number), memberOf(number)];
  return {
    account: { account, state: 'active', version: 1 },
    key: {
      account,
      key,
      member,
      kind: 'api',
      digest: digestOf(number),
      state: 'active',
      expiresAt: null,
      capNanoUsd: null,
      ...NO_KEY_TERMS,
      version: 1,
    },
    member: { account, member, capNanoUsd: null, version: 1 },
  };
}

/** Billing's snapshot of an account. Balances requested by name were never written. */
export function snapshotOf(number, withPlan, now, names = []) {
  const rows = names.map((name) => ({ name, value: null, version: 0 }));
  return {
    account: accountOf(number),
    rows: [{ name: 'wallet', value: ENOUGH_NANO_USD, version: 1 }, ...rows.filter(({ name }) => name !== 'wallet')],
    terms: { value: withPlan ? planTerms(number, now) : WALLET_TERMS, version: 1 },
    closed: [],
  };
}

/** The owners that admission queries. */
export function makeOwners(withPlan) {
  const begun = Date.now();
  return {
    find: async ([digest]) => {
      const number = Number.parseInt(digest, 16);
      return { account: accountOf(number), key: keyOf(number), digest };
    },
    loadAccount: async (account, key) => {
      const records = recordsOf(numberOf(account));
      return { account: records.account, key: key && records.key, member: records.member };
    },
    loadBalances: async ({ account, names, ids }) => ({
      incarnation: '0192a000-1ed6-7000-8000-00000000beef',
      standing: { ...snapshotOf(numberOf(account), withPlan, begun, names), closed: [...ids] },
      caughtUpTo: Date.now(),
      version: 1,
    }),
    // Accounts in this benchmark never change, so each balance equals the loaded one.
    unchangedBalances: async (asked) => ({
      incarnation: '0192a000-1ed6-7000-8000-00000000beef',
      accounts: asked
        .filter(({ rows }) => rows.every(({ name, version }) => version === (name === 'wallet' ? 1 : 0)))
        .map(({ account }) => ({ account, version: 1 })),
    }),
    unchangedRecords: async (asked) => ({
      accounts: asked
        .filter(({ version, keys, members }) => [{ version }, ...keys, ...members].every((one) => one.version === 1))
        .map(({ account }) => account),
    }),
  };
}

const figures = {
  inputPerMillion: 3_000_000_000,
  cachedInputPerMillion: 300_000_000,
  cacheWritePerMillion: 3_750_000_000,
  cacheWrite1hPerMillion: null,
  outputPerMillion: 15_000_000_000,
  perCall: 0,
  tiers: [],
};
export const model = {
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
  prices: [{ version: 'p1', effectiveFrom: 0, figures }],
};
export const source = {
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
};
