import type { z } from 'zod';
import { secretFrom } from '@gateway/contracts/ids';
import {
  accepted,
  overviewView,
  pageKeyCreated,
  pageKeys,
  pageModels,
  pageMember,
  pagesConfig,
  pageStatement,
  pageSession,
  pageUsageRecords,
  refusals,
  tokenUsed,
  usageLookup,
  usageSeries,
} from '@gateway/contracts/pages';
import {
  alertView,
  keyView,
  ledgerTransactionView,
  createPageSchema,
  statementLineView,
  walletView,
  webhookDeliveryView,
  webhookView,
  webhookWithSecret,
} from '@gateway/contracts/operator';
import {
  ACCOUNT,
  ALERT,
  AT,
  DELIVERY,
  exportPage,
  KEY,
  MEMBER,
  MODEL,
  NOW,
  PASSWORD,
  PASSWORD_HASH,
  PLAN,
  RECORD,
  REQUEST_ID,
  STATEMENT,
  SUBSCRIPTION,
  TRANSACTION,
  WEBHOOK,
} from './examples.js';

export { PASSWORD, PASSWORD_HASH };
export const TOKEN = 'a'.repeat(43);

/** A valid request of a page's route. The sender replaces `{account}` in the path. */
export interface PageExample {
  readonly path: string;
  readonly body?: unknown;
  readonly answers: Readonly<Record<string, unknown>>;
  readonly status: 200 | 201 | 202 | 204;
  /** Schema of the response; null: without a JSON body. */
  readonly schema: z.ZodType | null;
}

const SPAN = `from=${new Date(NOW).toISOString()}&to=${new Date(NOW + 3_600_000).toISOString()}`;
const last = { nextCursor: null };
const account = { 'accounts.get-account': { account: ACCOUNT } };
const names = {
  'accounts.names': {
    keys: [{ id: 'key_1', name: 'first', kind: 'api', member: 'mem_1', email: 'ada@example.com' }],
    members: [{ id: 'mem_1', email: 'ada@example.com' }],
  },
};
const creation = {
  'accounts.key-creation': { refusal: null, activeKeys: 1, activeKeysMax: 3, defaultCapUsd: '5.00' },
};
const rows = [
  {
    start: NOW,
    group: 'key_1',
    calls: 2,
    inputTokens: 10,
    cachedInputTokens: 1,
    cacheWriteTokens: 0,
    cacheWrite1hTokens: 0,
    outputTokens: 5,
    chargedNanoUsd: 1_500_000_000,
    planNanoUsd: 0,
    walletNanoUsd: 1_500_000_000,
  },
];
export const SERIES = { 'billing.usage-series': { rows, unbilled: { voided: 3, expired: 1 } } };
const KEY_MONTHS = { 'billing.key-months': { rows: [{ key: 'key_1', chargedNanoUsd: 1_500_000_000 }] } };
export const DECIDING = {
  'admission.usage': {
    kind: 'usage',
    account: 'acc_1',
    key: 'key_p',
    now: NOW,
    terms: {
      plan: { id: 'pro', name: 'Pro', tier: 'pro' },
      requestsPerMinute: 60,
      concurrency: 10,
      models: ['pub/model'],
      windows: [],
      allotments: [],
      subscription: null,
    },
    windows: [
      { type: 'weekly', unit: 'usd', limit: 20_000_000_000, used: 5_100_000_000, label: 'Weekly', resetsAt: NOW },
      { type: 'session_5h', unit: 'requests', limit: 3, used: 4, label: 'Session (5 hours)', resetsAt: NOW },
    ],
    allotments: [{ model: 'pub/model', unit: 'requests', limit: 9, used: 1 }],
    walletNanoUsd: -250_000_000,
    keyCapNanoUsd: null,
    allowedModels: null,
  },
};
const PERSON = {
  user: { id: 'usr_1', email: 'ada@example.com', emailVerified: true },
  accounts: [],
};
const firstPassword = {
  'accounts.find-mail-token': { kind: 'found' },
  'accounts.use-mail-token': { kind: 'used', email: 'ada@example.com' },
  'accounts.find-session': { session: PERSON },
  'accounts.end-session': { ended: true },
};
const operator = {
  'accounts.find-operator': {
    operator: { id: 'opr_1', name: 'grace', role: 'operator', createdAt: AT, createdBy: 'root', expiresAt: null },
  },
};
const refused = { refused: { code: 'not_found', message: 'not here', param: null } };
/** A record with the costs that customers must not see. */
const COSTLY_RECORD = {
  ...RECORD,
  costUsd: '0.77',
  attempts: [{ sourceId: 'src', outcome: 'completed', status: 200, possiblyPaid: true, reportedCostUsd: '0.77' }],
};
const file = exportPage(`${JSON.stringify({ ...RECORD, recordedAt: AT, costUsd: '0.77' })}\n`, REQUEST_ID);

/** By route ID. */
export const PAGE_EXAMPLES: Readonly<Record<string, PageExample>> = {
  getConfig: { path: '/config', answers: {}, status: 200, schema: pagesConfig },
  signUp: {
    path: '/sign-up',
    body: { name: 'Ada', email: 'ada@example.com' },
    answers: { 'accounts.sign-up': { kind: 'accepted' } },
    status: 202,
    schema: accepted,
  },
  verifyEmail: {
    path: '/verify-email',
    body: { token: TOKEN, password: PASSWORD },
    answers: firstPassword,
    status: 200,
    schema: pageSession,
  },
  resendVerification: {
    path: '/resend-verification',
    body: { email: 'ada@example.com' },
    answers: { 'accounts.resend-verification': { kind: 'accepted' } },
    status: 202,
    schema: accepted,
  },
  forgotPassword: {
    path: '/forgot-password',
    body: { email: 'ada@example.com' },
    answers: { 'accounts.request-reset': { kind: 'accepted' } },
    status: 202,
    schema: accepted,
  },
  resetPassword: {
    path: '/reset-password',
    body: { token: TOKEN, password: PASSWORD },
    answers: {
      'accounts.find-mail-token': { kind: 'found' },
      'accounts.use-mail-token': { kind: 'used', email: 'ada@example.com' },
    },
    status: 200,
    schema: tokenUsed,
  },
  acceptInvitation: {
    path: '/accept-invitation',
    body: { token: TOKEN, password: PASSWORD },
    answers: firstPassword,
    status: 200,
    schema: pageSession,
  },
  changePassword: {
    path: '/change-password',
    body: { oldPassword: PASSWORD, newPassword: 'another long one' },
    answers: {
      'accounts.begin-sign-in': { kind: 'proceed', user: { id: 'usr_1', passwordHash: PASSWORD_HASH } },
      'accounts.change-password': { changed: true },
    },
    status: 204,
    schema: null,
  },
  getSession: { path: '/session', answers: {}, status: 200, schema: pageSession },
  signIn: {
    path: '/sign-in',
    body: { email: 'ada@example.com', password: PASSWORD },
    answers: {
      'accounts.begin-sign-in': { kind: 'proceed', user: { id: 'usr_1', passwordHash: PASSWORD_HASH } },
      'accounts.create-session': { session: PERSON },
      'accounts.end-session': { ended: true },
    },
    status: 200,
    schema: pageSession,
  },
  signOut: { path: '/sign-out', answers: { 'accounts.end-session': { ended: true } }, status: 204, schema: null },
  signOutEverywhere: {
    path: '/sign-out-everywhere',
    answers: { 'accounts.end-session': { ended: true } },
    status: 204,
    schema: null,
  },
  operatorSignIn: {
    path: '/operator/sign-in',
    body: { token: secretFrom('mgo_', 'a'.repeat(40)) },
    answers: { ...operator, 'accounts.create-operator-session': { created: true } },
    status: 200,
    schema: pageSession,
  },
  operatorSignOut: {
    path: '/operator/sign-out',
    answers: { 'accounts.end-operator-session': { ended: true } },
    status: 204,
    schema: null,
  },
  getOverview: {
    path: '/accounts/{account}/overview',
    answers: {
      ...account,
      'billing.get-subscription': { subscription: SUBSCRIPTION },
      'billing.wallet': { balanceUsd: '-0.25' },
      'admission.held': { walletNanoUsd: 5, slots: 1 },
      'billing.get-plan': { plan: PLAN },
      ...DECIDING,
    },
    status: 200,
    schema: overviewView,
  },
  getUsageSeries: {
    path: `/accounts/{account}/usage-series?${SPAN}&by=hour&groupBy=key`,
    answers: { ...SERIES, ...names },
    status: 200,
    schema: usageSeries,
  },
  listRefusals: {
    path: `/accounts/{account}/refusals?${SPAN}`,
    answers: {
      'billing.refused-calls': {
        rows: [{ minute: NOW, code: 'no_funding', key: 'key_1', count: 3, lastIds: [REQUEST_ID] }],
        more: false,
        totals: [{ code: 'no_funding', count: 3 }],
      },
      'accounts.list-keys': { keys: [KEY], ...last },
    },
    status: 200,
    schema: refusals,
  },
  listKeys: {
    path: '/accounts/{account}/keys',
    answers: { 'accounts.list-keys': { keys: [KEY], ...last }, ...creation, ...names, ...KEY_MONTHS },
    status: 200,
    schema: pageKeys,
  },
  createKey: {
    path: '/accounts/{account}/keys',
    body: { name: 'first', monthlySpendCapUsd: '12.5', allowedModels: ['pub/model'] },
    answers: { 'accounts.create-key': { key: KEY, repeated: false } },
    status: 201,
    schema: pageKeyCreated,
  },
  rotateKey: {
    path: '/accounts/{account}/keys/key_1/rotate',
    answers: { 'accounts.get-key': { key: KEY }, 'accounts.rotate-key': { key: KEY, repeated: false, inForce: true } },
    status: 200,
    schema: pageKeyCreated,
  },
  revokeKey: {
    path: '/accounts/{account}/keys/key_1/revoke',
    answers: { 'accounts.get-key': { key: KEY }, 'accounts.set-key-state': { key: { ...KEY, state: 'revoked' } } },
    status: 200,
    schema: keyView,
  },
  listUsageRecords: {
    path: '/accounts/{account}/usage-records?keyId=key_1&modelId=pub/model&outcome=settled',
    answers: { 'billing.usage-records': { records: [COSTLY_RECORD], ...last }, ...names },
    status: 200,
    schema: pageUsageRecords,
  },
  getUsageRecord: {
    path: `/accounts/{account}/usage-records/${REQUEST_ID}`,
    answers: {
      'billing.usage-record': { record: COSTLY_RECORD, transactions: [TRANSACTION] },
      ...names,
    },
    status: 200,
    schema: usageLookup,
  },
  exportUsageRecords: {
    path: '/accounts/{account}/export/usage-records?format=jsonl',
    answers: { 'billing.export-usage-records': file },
    status: 200,
    schema: null,
  },
  exportLedgerEntries: {
    path: '/accounts/{account}/export/ledger-entries',
    answers: { 'billing.export-ledger-entries': exportPage('', null) },
    status: 200,
    schema: null,
  },
  listLedger: {
    path: '/accounts/{account}/ledger',
    answers: { ...account, 'billing.ledger': { transactions: [TRANSACTION], ...last } },
    status: 200,
    schema: createPageSchema(ledgerTransactionView),
  },
  getStatement: {
    path: '/accounts/{account}/statement?month=2026-11',
    answers: { 'billing.statement': { statement: STATEMENT }, ...names },
    status: 200,
    schema: pageStatement,
  },
  listStatementLines: {
    path: '/accounts/{account}/statement/lines?month=2026-11&by=key',
    answers: { ...account, 'billing.statement-lines': { lines: [], ...last } },
    status: 200,
    schema: createPageSchema(statementLineView),
  },
  getWallet: {
    path: '/accounts/{account}/wallet',
    answers: { ...account, 'billing.wallet': { balanceUsd: '1.00' }, 'admission.held': { walletNanoUsd: 0, slots: 0 } },
    status: 200,
    schema: walletView,
  },
  listAlerts: {
    path: '/accounts/{account}/alerts',
    answers: { ...account, 'billing.alerts': { alerts: [ALERT], ...last } },
    status: 200,
    schema: createPageSchema(alertView),
  },
  getWebhook: {
    path: '/accounts/{account}/webhook',
    answers: { ...account, 'billing.get-webhook': { webhook: WEBHOOK } },
    status: 200,
    schema: webhookView,
  },
  putWebhook: {
    path: '/accounts/{account}/webhook',
    body: { url: WEBHOOK.url },
    answers: { ...account, 'billing.put-webhook': { change: 'created', webhook: WEBHOOK } },
    status: 201,
    schema: webhookWithSecret,
  },
  deleteWebhook: {
    path: '/accounts/{account}/webhook',
    answers: { ...account, 'billing.delete-webhook': { deleted: true } },
    status: 204,
    schema: null,
  },
  rotateWebhookSecret: {
    path: '/accounts/{account}/webhook/rotate-secret',
    answers: { ...account, 'billing.rotate-webhook-secret': { webhook: WEBHOOK, repeated: false } },
    status: 200,
    schema: webhookWithSecret,
  },
  listWebhookDeliveries: {
    path: '/accounts/{account}/webhook/deliveries',
    answers: { ...account, 'billing.webhook-deliveries': { deliveries: [DELIVERY], ...last } },
    status: 200,
    schema: createPageSchema(webhookDeliveryView),
  },
  listModels: {
    path: '/accounts/{account}/models',
    answers: {
      'catalog.list-models': { models: [MODEL], onMessages: [], ...last },
      'catalog.source-health': { sources: [], ...last },
      ...DECIDING,
    },
    status: 200,
    schema: pageModels,
  },
  playground: {
    path: '/accounts/{account}/playground',
    body: { model: 'pub/model', messages: [{ role: 'user', content: 'Hello' }] },
    answers: { 'accounts.ensure-playground-key': { key: 'key_p' } },
    status: 200,
    schema: null,
  },
  listMembers: {
    path: '/accounts/{account}/members',
    answers: { ...account, 'accounts.list-members': { members: [MEMBER], ...last } },
    status: 200,
    schema: createPageSchema(pageMember.strict()),
  },
  inviteMember: {
    path: '/accounts/{account}/members',
    body: { email: 'bob@example.com', role: 'member' },
    answers: { 'accounts.invite-member': { member: MEMBER } },
    status: 201,
    schema: pageMember.strict(),
  },
  putMember: {
    path: '/accounts/{account}/members/mem_1',
    body: { role: 'owner', monthlySpendCapUsd: '5' },
    answers: { ...names, 'accounts.put-member': { member: MEMBER } },
    status: 200,
    schema: pageMember.strict(),
  },
  deleteMember: {
    path: '/accounts/{account}/members/mem_2',
    answers: { 'accounts.delete-member': { deleted: true } },
    status: 204,
    schema: null,
  },
};

/** Response of billing for an unknown request. */
export const NO_RECORD = { 'billing.usage-record': refused };
