import { z } from 'zod';
import {
  billingRefusedCall,
  billingStatement,
  billingUsageRecord,
  billingUsageRecords,
  requestId,
} from '@gateway/contracts/messages';
import { type UsageRecordView, isRefusal } from '@gateway/contracts/operator';
import {
  type PageStatement,
  type PageUsageRecord,
  type PageUsageRecords,
  type UsageLookup,
  pageStatementQuery,
  pageUsageRecord,
  usageRecordsQuery,
} from '@gateway/contracts/pages';
import type { RouteResult } from '../../http/route.js';
import { toEpochMs, toPage } from '../../operator-api/parameters.js';
import { type AccountNames, readNames } from '../account/names.js';
import { type AccountRequest, defineRoute, refusePage } from '../route.js';
import { toCustomerTransaction } from './customer-lines.js';
import { findOwnKeys } from './series.js';

const NOT_FOUND = refusePage('not_found', 'no request with this ID was found in the account');

export const USAGE_PAGE_ROUTES = [
  defineRoute({
    id: 'listUsageRecords',
    access: 'member',
    method: 'GET',
    path: '/accounts/{account}/usage-records',
    query: usageRecordsQuery,
    async handle({ services, account, query }): Promise<RouteResult> {
      const own = account.role === 'member' ? account.memberId : query.memberId;
      if (query.memberId !== undefined && query.memberId !== own) {
        return refusePage('forbidden', 'a member can see only their own usage', 'memberId');
      }
      const { keyId, modelId, outcome } = query;
      const answer = await services.request(billingUsageRecords, {
        account: account.id,
        from: toEpochMs(query.from),
        to: toEpochMs(query.to),
        ...(keyId === undefined ? {} : { key: keyId }),
        ...(own === undefined ? {} : { member: own }),
        ...(modelId === undefined ? {} : { model: modelId }),
        ...(outcome === undefined ? {} : { outcome }),
        ...toPage(query),
      });
      if (isRefusal(answer)) return answer;
      const names = await readNames(services, account.id, idsOf(answer.records));
      const data = answer.records.map((record) => viewOf(record, names));
      return { status: 200, body: { data, next_cursor: answer.nextCursor } satisfies PageUsageRecords };
    },
  }),
  defineRoute({
    id: 'getUsageRecord',
    access: 'member',
    method: 'GET',
    path: '/accounts/{account}/usage-records/{requestId}',
    params: z.object({ requestId }),
    async handle(request): Promise<RouteResult> {
      const { services, account, params } = request;
      const answer = await services.request(billingUsageRecord, params);
      if (isRefusal(answer)) return findRefusedCall(request);
      const { record, transactions } = answer;
      if (record.accountId !== account.id) return NOT_FOUND;
      if (account.role === 'member' && record.memberId !== account.memberId) {
        return refusePage('forbidden', 'the request belongs to another member');
      }
      const names = await readNames(services, account.id, idsOf([record]));
      return {
        status: 200,
        body: { ...viewOf(record, names), transactions: transactions.map(toCustomerTransaction) } satisfies UsageLookup,
      };
    },
  }),
];

export const STATEMENT_ROUTES = [
  defineRoute({
    id: 'getStatement',
    access: 'manager',
    method: 'GET',
    path: '/accounts/{account}/statement',
    query: pageStatementQuery,
    async handle({ services, account, query }): Promise<RouteResult> {
      const answer = await services.request(billingStatement, { account: account.id, month: query.month });
      if (isRefusal(answer)) return answer;
      const { byKey, byMember, ...statement } = answer.statement;
      const names = await readNames(services, account.id, {
        keys: byKey.map(({ keyId }) => keyId),
        members: byMember.map(({ memberId }) => memberId),
      });
      const body: PageStatement = {
        ...statement,
        byKey: byKey.map((line) => ({ ...line, label: names.keyLabel(line.keyId) })),
        byMember: byMember.map((line) => ({ ...line, label: names.memberEmail(line.memberId) ?? line.memberId })),
      };
      return { status: 200, body };
    },
  }),
];

/** Looks up a refused request, because it has no usage record. Refusals are kept for some time. */
async function findRefusedCall(
  request: AccountRequest & { readonly params: { readonly requestId: string } },
): Promise<RouteResult> {
  const { services, account, params } = request;
  const answer = await services.request(billingRefusedCall, params);
  if (isRefusal(answer) || answer.account !== account.id) return NOT_FOUND;
  const { code, key, minute } = answer.row;
  if (account.role === 'member' && (key === null || !(await findOwnKeys(request, [key])).has(key))) return NOT_FOUND;
  const body: UsageLookup = { ...params, refused: { code, at: new Date(minute).toISOString() } };
  return { status: 200, body };
}

function idsOf(records: readonly UsageRecordView[]) {
  return { keys: records.map(({ keyId }) => keyId), members: records.map(({ memberId }) => memberId) };
}

/** Keeps only the fields that a customer may see. */
function viewOf(record: UsageRecordView, names: AccountNames): PageUsageRecord {
  const { keyId, memberId } = record;
  return pageUsageRecord.parse({ ...record, keyName: names.keyName(keyId), memberEmail: names.memberEmail(memberId) });
}
