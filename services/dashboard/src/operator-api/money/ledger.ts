import {
  billingLedger,
  billingLedgerTransaction,
  billingStatement,
  billingStatementLines,
  billingTrialBalance,
  billingUsageRecord,
  billingUsageRecords,
  month,
  requestId,
} from '@gateway/contracts/messages';
import {
  ledgerTransactionView,
  statementBy,
  statementLineView,
  statementView,
  trialBalanceView,
  usageRecordView,
} from '@gateway/contracts/operator';
import { z } from 'zod';
import { defineRoute, listRoute, readRoute, respondPage, respondWith, withAccount } from '../route.js';
import { byId, byRequestId, toEpochMs, flag, instant, objectId, toPage, pageQuery } from '../parameters.js';

export const USAGE_ROUTES = [
  defineRoute({
    ...listRoute(usageRecordView),
    id: 'listUsageRecords',
    path: '/usage-records',
    summary:
      'Lists usage records of requests in [from, to), newest first; reportsCost: only records with a provider-reported cost',
    query: pageQuery.extend({
      accountId: objectId.optional(),
      from: instant.optional(),
      to: instant.optional(),
      reportsCost: flag,
    }),
    async handle({ services, query }) {
      const question = {
        account: query.accountId ?? null,
        from: toEpochMs(query.from),
        to: toEpochMs(query.to),
        ...(query.reportsCost === 'true' ? { reportsCost: true } : {}),
        ...toPage(query),
      };
      return respondPage(await services.request(billingUsageRecords, question), (page) => page.records);
    },
  }),
  defineRoute({
    id: 'getUsageRecord',
    method: 'GET',
    path: '/usage-records/{requestId}',
    summary: 'Returns the usage record of a request, with its ledger transactions',
    access: 'read',
    params: byRequestId,
    answers: { 200: usageRecordView.extend({ transactions: z.array(ledgerTransactionView) }) },
    async handle({ services, params }) {
      const answer = await services.request(billingUsageRecord, params);
      return respondWith(200, answer, ({ record, transactions }) => ({ ...record, transactions }));
    },
  }),
];

export const LEDGER_ROUTES = [
  defineRoute({
    ...listRoute(ledgerTransactionView),
    id: 'listLedger',
    path: '/accounts/{id}/ledger',
    summary: 'Lists ledger transactions of an account, newest first, of one month or all',
    params: byId,
    query: pageQuery.extend({ month: month.optional(), calls: z.enum(['with', 'without']).default('with') }),
    handle: ({ services, params, query }) =>
      withAccount(services, params.id, async () => {
        const withoutCalls = query.calls === 'without';
        const question = { account: params.id, month: query.month ?? null, withoutCalls, ...toPage(query) };
        return respondPage(await services.request(billingLedger, question), (page) => page.transactions);
      }),
  }),
  defineRoute({
    ...readRoute(statementView),
    id: 'getStatement',
    path: '/accounts/{id}/statement',
    summary: 'Returns the statement of an account for a calendar month; it matches the ledger',
    params: byId,
    query: z.object({ month }),
    handle: ({ services, params, query }) =>
      withAccount(services, params.id, async () => {
        const answer = await services.request(billingStatement, { account: params.id, month: query.month });
        return respondWith(200, answer, ({ statement }) => statement);
      }),
  }),
  defineRoute({
    ...listRoute(statementLineView),
    id: 'listStatementLines',
    path: '/accounts/{id}/statement/lines',
    summary: 'Lists the usage of a month by key, member or model; of one key or member, or of all',
    params: byId,
    query: pageQuery.extend({ month, by: statementBy, keyId: objectId.optional(), memberId: objectId.optional() }),
    handle: ({ services, params, query }) =>
      withAccount(services, params.id, async () => {
        const { month: of, by, keyId = null, memberId = null } = query;
        const question = { account: params.id, month: of, by, key: keyId, member: memberId, ...toPage(query) };
        return respondPage(await services.request(billingStatementLines, question), (page) => page.lines);
      }),
  }),
  defineRoute({
    ...readRoute(ledgerTransactionView),
    id: 'getLedgerTransaction',
    path: '/ledger/transactions/{id}',
    summary: 'Returns a ledger transaction',
    params: z.object({ id: requestId }),
    async handle({ services, params }) {
      const answer = await services.request(billingLedgerTransaction, params);
      return respondWith(200, answer, ({ transaction }) => transaction);
    },
  }),
  defineRoute({
    ...readRoute(trialBalanceView),
    id: 'getTrialBalance',
    path: '/ledger/trial-balance',
    summary: 'Returns the balances of all ledger accounts before an instant; they sum to zero',
    query: z.object({ asOf: instant.optional() }),
    async handle({ services, query }) {
      const answer = await services.request(billingTrialBalance, { asOf: toEpochMs(query.asOf) });
      return respondWith(200, answer, ({ trialBalance }) => trialBalance);
    },
  }),
];
