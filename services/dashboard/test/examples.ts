import { hash } from 'node:crypto';
import type { ProviderProfile } from '@gateway/contracts/operator';
import {
  ACCOUNT,
  ALERT,
  AT,
  DELIVERY,
  ENTRY,
  HEALTH,
  KEY,
  MEMBER,
  MODEL,
  NOW,
  PRICES,
  RECORD,
  REQUEST_ID,
  SLOT,
  SOURCE,
  TRANSACTION,
  WEBHOOK,
} from '../web/fixtures/src/objects.js';

export * from '../web/fixtures/src/objects.js';

export const PROVIDER = { id: 'prov', name: 'Provider', format: 'openai', auth: null, hasCredential: false };
export const ALIAS = { id: 'anthropic/model@latest', modelId: 'pub/model' };
/** A proposal of a comparison with price lists. */
export const PROPOSAL = {
  id: '0123456789abcdef',
  lists: ['litellm of 2026-11-20'],
  changes: [
    {
      kind: 'source' as const,
      objectId: 'src',
      modelId: 'pub/model',
      before: { inputPerMillion: '0.50', outputPerMillion: '4.50' },
      after: { inputPerMillion: '0.75', outputPerMillion: '4.50' },
    },
  ],
  reported: [{ sourceId: 'src', modelId: 'pub/model', requests: 40, computedUsd: '1.00', reportedUsd: '1.50' }],
  raisedAt: '2026-11-20T06:00:00.000Z',
  checkedAt: '2026-11-21T06:00:00.000Z',
  scheduledFor: '2026-11-21T06:00:00.000Z',
};
export const PROFILE: ProviderProfile = {
  id: 'openai',
  name: 'OpenAI',
  checked: '2026-11-23',
  documentation: 'https://example.com/docs',
  format: 'openai',
  base: 'https://api.openai.com',
  parameters: {},
  endpoints: {
    '/v1/chat/completions': '/v1/chat/completions',
    '/v1/completions': '/v1/completions',
    '/v1/embeddings': '/v1/embeddings',
    '/v1/responses': '/v1/responses',
  },
  auth: [{ type: 'bearer' }],
  headers: {},
  forwardHeaders: [],
  betas: [],
  body: { '/v1/chat/completions': { set: { store: false } } },
  refuses: [],
  streamUsage: 'asked',
  totalExtra: 'reasoning',
  pricing: { classes: [], tools: [], freeTools: ['function'], unpricedFields: {} },
  errors: [],
  unlimitedMaxTokens: [],
  cancelStopsBilling: false,
  keepsState: true,
  keyVariable: 'OPENAI_API_KEY',
  catches: ['A sentence.'],
};
export const SOURCE_PUT = {
  modelId: 'pub/model',
  providerId: 'prov',
  baseUrl: 'https://api.example.com',
  upstreamModel: 'm',
  endpoints: ['/v1/chat/completions'],
};
export const SOURCE_TEST = {
  sourceId: 'src',
  edge: 'edge-0',
  works: false,
  problem: null,
  calls: [
    {
      endpoint: '/v1/chat/completions',
      streamed: false,
      finding: 'works',
      text: 'It works.',
      providerText: null,
      status: 200,
      usage: { input: 9, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 4 },
      costUsd: '0.00001',
      priceUsd: '0.00002',
      firstByteMs: 210,
      totalMs: 240,
    },
    {
      endpoint: '/v1/chat/completions',
      streamed: true,
      finding: 'quota',
      text: 'The provider limits the rate.',
      providerText: 'Slow down.',
      status: 429,
      usage: null,
      costUsd: null,
      priceUsd: null,
      firstByteMs: null,
      totalMs: 90,
    },
  ],
};
export const PLAN_PUT = {
  name: 'Pro',
  tier: 'pro',
  models: null,
  windows: [{ type: 'weekly', unit: 'usd', limit: '20' }],
};
export const PLAN = {
  id: 'pro',
  version: 1,
  name: 'Pro',
  tier: 'pro',
  models: null,
  requestsPerMinute: 60,
  concurrency: 10,
  windows: [{ type: 'weekly', unit: 'usd', limit: '20', label: 'Weekly' }],
  modelAllotments: [],
  defaultKeySpendCapUsd: null,
  maxActiveKeys: 3,
  createdAt: AT,
};
const SUBSCRIPTION_PUT = { planId: 'pro', periodStart: AT, periodEnd: new Date(NOW + 86_400_000).toISOString() };
export const SUBSCRIPTION = {
  id: 'sub_1',
  accountId: 'acc_1',
  planVersion: 1,
  renews: false,
  active: true,
  ...SUBSCRIPTION_PUT,
};
const SPEND = { calls: 1, chargedUsd: '1', planUsd: '0', walletUsd: '1' };
const NONE_OMITTED = { entries: 0, calls: 0, chargedUsd: '0', planUsd: '0', walletUsd: '0' };
export const STATEMENT = {
  accountId: 'acc_1',
  month: '2026-11',
  openingBalanceUsd: '0',
  closingBalanceUsd: '9',
  movements: [{ kind: 'credit', amountUsd: '10', transactions: 1 }],
  usage: SPEND,
  byKey: [{ keyId: 'key_1', ...SPEND }],
  byMember: [{ memberId: 'mem_1', ...SPEND }],
  byModel: [{ modelId: 'pub/model', ...SPEND }],
  omitted: { keys: NONE_OMITTED, members: NONE_OMITTED, models: NONE_OMITTED },
};
export const OPERATOR = {
  id: 'opr_1',
  name: 'grace',
  role: 'operator',
  createdAt: AT,
  createdBy: 'operator:root',
  expiresAt: null,
};

/** A valid request of a route, the responses of the services, and the expected result. */
export interface Example {
  readonly path: string;
  readonly body?: unknown;
  /** By message name, in the order of the requests. The last one may refuse. */
  readonly answers: Readonly<Record<string, unknown>>;
  readonly status: 200 | 201 | 204;
  /** The expected body; absent: only its schema is checked. */
  readonly expected?: object;
}

const last = { nextCursor: null };
const account = { 'accounts.get-account': { account: ACCOUNT } };
/** Returns a page of a file. */
export function exportPage(text: string, lastId: string | null, more = false) {
  return { text, sha256: hash('sha256', text, 'hex'), lines: 1, lastId, more };
}
const saved = { change: 'created', revision: 4, inForce: true };
const page = (data: object) => ({ data: [data], next_cursor: null });

const NOTHING_TRIED = { changes: [], unchanged: 1, revision: 1, inForce: true };

/** By route ID. */
export const EXAMPLES: Readonly<Record<string, Example>> = {
  listSlots: {
    path: '/slots?accountId=acc_1',
    answers: { 'admission.slots': { slots: [SLOT], ...last } },
    status: 200,
    expected: page(SLOT),
  },
  releaseSlot: {
    path: `/slots/${REQUEST_ID}`,
    answers: {
      'admission.slots': { slots: [SLOT], ...last },
      'admission.release-slot': { released: true, account: 'acc_1' },
    },
    status: 204,
  },
  listSourceHealth: {
    path: '/sources/health',
    answers: { 'catalog.source-health': { sources: [HEALTH], ...last } },
    status: 200,
    expected: page(HEALTH),
  },
  listAudit: {
    path: '/audit',
    answers: {
      'catalog.audit': { entries: [], ...last },
      'billing.audit': { entries: [], ...last },
      'accounts.audit': { entries: [ENTRY], ...last },
    },
    status: 200,
    expected: page(ENTRY),
  },
  listProfiles: {
    path: '/profiles',
    answers: { 'catalog.list-profiles': { profiles: [PROFILE] } },
    status: 200,
    expected: { data: [PROFILE] },
  },
  listProviders: {
    path: '/providers',
    answers: { 'catalog.list-providers': { providers: [PROVIDER], ...last } },
    status: 200,
    expected: page(PROVIDER),
  },
  putProvider: {
    path: '/providers/prov',
    body: { name: 'Provider', format: 'openai' },
    answers: { 'catalog.put-provider': { ...saved, provider: PROVIDER } },
    status: 201,
    expected: { ...PROVIDER, inForce: true },
  },
  getProvider: {
    path: '/providers/prov',
    answers: { 'catalog.get-provider': { provider: PROVIDER } },
    status: 200,
    expected: PROVIDER,
  },
  deleteProvider: {
    path: '/providers/prov',
    answers: { 'catalog.delete': { revision: 5, inForce: true } },
    status: 204,
  },
  listModels: {
    path: '/models',
    answers: { 'catalog.list-models': { models: [MODEL], onMessages: [], ...last } },
    status: 200,
    expected: page(MODEL),
  },
  putModel: {
    path: '/models/pub/model',
    body: { displayName: 'Model', kind: 'chat', prices: PRICES },
    answers: { 'catalog.apply': NOTHING_TRIED, 'catalog.put-model': { ...saved, model: MODEL } },
    status: 201,
    expected: { ...MODEL, inForce: true },
  },
  getModel: {
    path: '/models/pub/model',
    answers: { 'catalog.get-model': { model: MODEL } },
    status: 200,
    expected: MODEL,
  },
  deleteModel: {
    path: '/models/pub/model',
    answers: { 'catalog.delete': { revision: 5, inForce: true } },
    status: 204,
  },
  listAliases: {
    path: '/aliases',
    answers: { 'catalog.list-aliases': { aliases: [ALIAS], ...last } },
    status: 200,
    expected: page(ALIAS),
  },
  putAlias: {
    path: '/aliases/anthropic/model@latest',
    body: { modelId: 'pub/model' },
    answers: { 'catalog.put-alias': { ...saved, alias: ALIAS } },
    status: 201,
    expected: { ...ALIAS, inForce: true },
  },
  getAlias: {
    path: '/aliases/anthropic/model@latest',
    answers: { 'catalog.get-alias': { alias: ALIAS } },
    status: 200,
    expected: ALIAS,
  },
  deleteAlias: {
    path: '/aliases/anthropic/model@latest',
    answers: { 'catalog.delete': { revision: 5, inForce: true } },
    status: 204,
  },
  getPriceProposal: {
    path: '/price-proposal',
    answers: { 'catalog.get-price-proposal': { proposal: PROPOSAL } },
    status: 200,
    expected: PROPOSAL,
  },
  putPriceProposal: {
    path: '/price-proposal',
    body: { lists: PROPOSAL.lists, changes: PROPOSAL.changes, reported: PROPOSAL.reported },
    answers: { 'catalog.propose-prices': { proposal: { ...PROPOSAL, outcome: 'raised' } } },
    status: 200,
    expected: { ...PROPOSAL, outcome: 'raised' },
  },
  listSources: {
    path: '/sources?modelId=pub/model',
    answers: { 'catalog.list-sources': { sources: [SOURCE], ...last } },
    status: 200,
    expected: page(SOURCE),
  },
  putSource: {
    path: '/sources/src',
    body: SOURCE_PUT,
    answers: { 'catalog.apply': NOTHING_TRIED, 'catalog.put-source': { ...saved, source: SOURCE } },
    status: 201,
    expected: { ...SOURCE, inForce: true },
  },
  getSource: {
    path: '/sources/src',
    answers: { 'catalog.get-source': { source: SOURCE, revision: 5 } },
    status: 200,
    expected: SOURCE,
  },
  testSource: {
    path: '/sources/src/test',
    answers: { 'catalog.get-source': { source: SOURCE, revision: 5 }, 'edge.test-source': { test: SOURCE_TEST } },
    status: 200,
    expected: SOURCE_TEST,
  },
  deleteSource: { path: '/sources/src', answers: { 'catalog.delete': { revision: 5, inForce: true } }, status: 204 },
  listPlans: {
    path: '/plans',
    answers: { 'billing.list-plans': { plans: [PLAN], ...last } },
    status: 200,
    expected: page(PLAN),
  },
  putPlan: {
    path: '/plans/pro',
    body: PLAN_PUT,
    answers: { 'billing.put-plan': { change: 'created', plan: PLAN } },
    status: 201,
    expected: PLAN,
  },
  getPlan: { path: '/plans/pro', answers: { 'billing.get-plan': { plan: PLAN } }, status: 200, expected: PLAN },
  deletePlan: { path: '/plans/pro', answers: { 'billing.delete-plan': { deleted: true } }, status: 204 },
  apply: {
    path: '/apply',
    body: { objects: [{ kind: 'provider', id: 'prov', spec: { name: 'Provider', format: 'openai' } }] },
    answers: {
      'catalog.apply': {
        changes: [
          { kind: 'provider', id: 'prov', change: 'created', before: null, after: PROVIDER, credentialChanged: false },
        ],
        unchanged: 0,
        revision: 4,
        inForce: true,
      },
    },
    status: 200,
  },
  createAccount: {
    path: '/accounts',
    body: { name: 'Ada', email: 'ada@example.com' },
    answers: { 'accounts.create-account': { account: ACCOUNT } },
    status: 201,
    expected: ACCOUNT,
  },
  listAccounts: {
    path: '/accounts',
    answers: { 'accounts.list-accounts': { accounts: [ACCOUNT], total: 1, ...last } },
    status: 200,
    expected: page(ACCOUNT),
  },
  getAccount: { path: '/accounts/acc_1', answers: account, status: 200, expected: ACCOUNT },
  suspendAccount: {
    path: '/accounts/acc_1/suspend',
    answers: { 'accounts.set-account-state': { account: ACCOUNT } },
    status: 200,
    expected: ACCOUNT,
  },
  reinstateAccount: {
    path: '/accounts/acc_1/reinstate',
    answers: { 'accounts.set-account-state': { account: ACCOUNT } },
    status: 200,
    expected: ACCOUNT,
  },
  closeAccount: {
    path: '/accounts/acc_1/close',
    answers: { 'accounts.close-account': { account: { ...ACCOUNT, state: 'closed' } } },
    status: 200,
    expected: { ...ACCOUNT, state: 'closed' },
  },
  getLimits: {
    path: '/accounts/acc_1/limits',
    answers: { ...account, 'billing.get-limits': { limits: { concurrency: 4 } } },
    status: 200,
    expected: { concurrency: 4 },
  },
  putLimits: {
    path: '/accounts/acc_1/limits',
    body: { concurrency: 4 },
    answers: { ...account, 'billing.put-limits': { limits: { concurrency: 4 } } },
    status: 200,
    expected: { concurrency: 4 },
  },
  putSubscription: {
    path: '/accounts/acc_1/subscription',
    body: SUBSCRIPTION_PUT,
    answers: { ...account, 'billing.put-subscription': { change: 'created', subscription: SUBSCRIPTION } },
    status: 201,
    expected: SUBSCRIPTION,
  },
  getSubscription: {
    path: '/accounts/acc_1/subscription',
    answers: { ...account, 'billing.get-subscription': { subscription: SUBSCRIPTION } },
    status: 200,
    expected: SUBSCRIPTION,
  },
  deleteSubscription: {
    path: '/accounts/acc_1/subscription',
    answers: { ...account, 'billing.delete-subscription': { deleted: true } },
    status: 204,
  },
  getWallet: {
    path: '/accounts/acc_1/wallet',
    answers: {
      ...account,
      'billing.wallet': { balanceUsd: '12.5' },
      'admission.held': { walletNanoUsd: 1_500_000_001, slots: 2 },
    },
    status: 200,
    expected: { balanceUsd: '12.5', heldUsd: '1.500000001' },
  },
  addWalletEntry: {
    path: '/accounts/acc_1/wallet/entries',
    body: { amountUsd: '-2.50', kind: 'adjustment', reason: 'a mistake', reference: 'ref-1' },
    answers: {
      ...account,
      'billing.add-wallet-entry': { transaction: TRANSACTION, balanceUsd: '10', repeated: false },
    },
    status: 201,
    expected: { transaction: TRANSACTION, balanceUsd: '10', repeated: false },
  },
  createMember: {
    path: '/accounts/acc_1/members',
    body: { email: 'bob@example.com', monthlySpendCapUsd: '5' },
    answers: { 'accounts.create-member': { member: MEMBER } },
    status: 201,
    expected: MEMBER,
  },
  listMembers: {
    path: '/accounts/acc_1/members',
    answers: { ...account, 'accounts.list-members': { members: [MEMBER], ...last } },
    status: 200,
    expected: page(MEMBER),
  },
  putMember: {
    path: '/accounts/acc_1/members/mem_1',
    body: { email: 'ada@example.com', role: 'owner' },
    answers: { 'accounts.put-member': { member: MEMBER } },
    status: 200,
    expected: MEMBER,
  },
  deleteMember: {
    path: '/accounts/acc_1/members/mem_1',
    answers: { 'accounts.delete-member': { deleted: true } },
    status: 204,
  },
  createKey: {
    path: '/accounts/acc_1/keys',
    body: { name: 'first' },
    answers: { 'accounts.create-key': { key: KEY, repeated: false } },
    status: 201,
  },
  listKeys: {
    path: '/accounts/acc_1/keys',
    answers: { ...account, 'accounts.list-keys': { keys: [KEY], ...last } },
    status: 200,
    expected: page(KEY),
  },
  getKey: { path: '/keys/key_1', answers: { 'accounts.get-key': { key: KEY } }, status: 200, expected: KEY },
  rotateKey: {
    path: '/keys/key_1/rotate',
    answers: { 'accounts.rotate-key': { key: KEY, repeated: false, inForce: true } },
    status: 200,
  },
  revokeKey: {
    path: '/keys/key_1/revoke',
    answers: { 'accounts.set-key-state': { key: KEY } },
    status: 200,
    expected: KEY,
  },
  suspendKey: {
    path: '/keys/key_1/suspend',
    answers: { 'accounts.set-key-state': { key: KEY } },
    status: 200,
    expected: KEY,
  },
  reinstateKey: {
    path: '/keys/key_1/reinstate',
    answers: { 'accounts.set-key-state': { key: KEY } },
    status: 200,
    expected: KEY,
  },
  listUsageRecords: {
    path: '/usage-records?accountId=acc_1&from=2026-11-01T00:00:00Z&to=2026-12-01T00:00:00Z',
    answers: { 'billing.usage-records': { records: [RECORD], ...last } },
    status: 200,
    expected: page(RECORD),
  },
  getUsageRecord: {
    path: `/usage-records/${REQUEST_ID}`,
    answers: { 'billing.usage-record': { record: RECORD, transactions: [TRANSACTION] } },
    status: 200,
    expected: { ...RECORD, transactions: [TRANSACTION] },
  },
  listLedger: {
    path: '/accounts/acc_1/ledger?month=2026-11',
    answers: { ...account, 'billing.ledger': { transactions: [TRANSACTION], ...last } },
    status: 200,
    expected: page(TRANSACTION),
  },
  getStatement: {
    path: '/accounts/acc_1/statement?month=2026-11',
    answers: { ...account, 'billing.statement': { statement: STATEMENT } },
    status: 200,
    expected: STATEMENT,
  },
  listStatementLines: {
    path: '/accounts/acc_1/statement/lines?month=2026-11&by=key&memberId=mem_1',
    answers: { ...account, 'billing.statement-lines': { lines: [{ id: 'key_1', ...SPEND }], ...last } },
    status: 200,
    expected: page({ id: 'key_1', ...SPEND }),
  },
  exportUsageRecords: {
    path: `/exports/usage-records?accountId=acc_1&from=2026-11-01T00:00:00Z&cursor=${REQUEST_ID}`,
    answers: { 'billing.export-usage-records': exportPage('line\r\n', REQUEST_ID) },
    status: 200,
  },
  exportLedgerEntries: {
    path: `/exports/ledger-entries?format=jsonl&cursor=${REQUEST_ID}.1`,
    answers: { 'billing.export-ledger-entries': exportPage('{}\n', `${REQUEST_ID}.2`) },
    status: 200,
  },
  getLedgerTransaction: {
    path: `/ledger/transactions/${REQUEST_ID}`,
    answers: { 'billing.ledger-transaction': { transaction: TRANSACTION } },
    status: 200,
    expected: TRANSACTION,
  },
  getTrialBalance: {
    path: '/ledger/trial-balance?asOf=2026-11-20T00:00:00Z',
    answers: {
      'billing.trial-balance': {
        trialBalance: { asOf: AT, accounts: [{ ledgerAccount: 'revenue', amountUsd: '1' }], totalUsd: '0' },
      },
    },
    status: 200,
  },
  listAlerts: {
    path: '/accounts/acc_1/alerts',
    answers: { ...account, 'billing.alerts': { alerts: [ALERT], ...last } },
    status: 200,
    expected: page(ALERT),
  },
  putWebhook: {
    path: '/accounts/acc_1/webhook',
    body: { url: WEBHOOK.url },
    answers: { ...account, 'billing.put-webhook': { change: 'created', webhook: WEBHOOK } },
    status: 201,
  },
  getWebhook: {
    path: '/accounts/acc_1/webhook',
    answers: { ...account, 'billing.get-webhook': { webhook: WEBHOOK } },
    status: 200,
    expected: WEBHOOK,
  },
  deleteWebhook: {
    path: '/accounts/acc_1/webhook',
    answers: { ...account, 'billing.delete-webhook': { deleted: true } },
    status: 204,
  },
  rotateWebhookSecret: {
    path: '/accounts/acc_1/webhook/rotate-secret',
    answers: { ...account, 'billing.rotate-webhook-secret': { webhook: WEBHOOK, repeated: false } },
    status: 200,
  },
  listWebhookDeliveries: {
    path: '/accounts/acc_1/webhook/deliveries',
    answers: { ...account, 'billing.webhook-deliveries': { deliveries: [DELIVERY], ...last } },
    status: 200,
    expected: page(DELIVERY),
  },
  createOperator: {
    path: '/operators',
    body: { name: 'grace', role: 'operator' },
    answers: { 'accounts.create-operator': { operator: OPERATOR, repeated: false } },
    status: 201,
  },
  listOperators: {
    path: '/operators',
    answers: { 'accounts.list-operators': { operators: [OPERATOR], ...last } },
    status: 200,
    expected: page(OPERATOR),
  },
  deleteOperator: { path: '/operators/opr_1', answers: { 'accounts.delete-operator': { deleted: true } }, status: 204 },
};
