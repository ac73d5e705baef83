import { admissionReleaseSlot, admissionSlots, catalogSourceHealth } from '@gateway/contracts/messages';
import {
  auditEntryView,
  auditKind,
  isRefusal,
  refuse,
  slotView,
  sourceHealthView,
  type ManagementRefusal,
  type SlotView,
} from '@gateway/contracts/operator';
import { z } from 'zod';
import { listAudit } from './list-audit.js';
import { AUDIT_CURSOR_CHARS_MAX } from './audit-cursor.js';
import { defineRoute, listRoute, respondDeleted, respondPage, type Services } from '../route.js';
import { byRequestId, objectId, toPage, pageQuery } from '../parameters.js';

const OBJECT_ID_CHARS_MAX = 200;

export const OPERATION_ROUTES = [
  defineRoute({
    ...listRoute(slotView),
    id: 'listSlots',
    path: '/slots',
    summary: 'Lists running requests, from the limit store',
    query: pageQuery.extend({ accountId: objectId.optional() }),
    async handle({ services, query }) {
      const question = { account: query.accountId ?? null, ...toPage(query) };
      return respondPage(await services.request(admissionSlots, question), (page) => page.slots);
    },
  }),
  defineRoute({
    id: 'releaseSlot',
    method: 'DELETE',
    path: '/slots/{requestId}',
    summary: 'Ends a running request and frees its slot; its money stays held until its usage record is settled',
    access: 'write',
    params: byRequestId,
    answers: { 204: null },
    refusals: ['state_conflict'],
    async handle({ services, access, params: { requestId }, author }) {
      const call = await findCall(services, requestId);
      if (isRefusal(call)) return call;
      await access.changing({ action: 'end_call', ...author, account: call.accountId, objectId: requestId });
      return respondDeleted(await services.request(admissionReleaseSlot, { requestId, author }));
    },
  }),
  defineRoute({
    ...listRoute(sourceHealthView),
    id: 'listSourceHealth',
    path: '/sources/health',
    summary: 'Lists the health of sources, as the running edges report it',
    handle: async ({ services, query }) =>
      respondPage(await services.request(catalogSourceHealth, toPage(query)), (page) => page.sources),
  }),
  defineRoute({
    ...listRoute(auditEntryView),
    id: 'listAudit',
    path: '/audit',
    summary: 'Lists changes, sign-ins, file exports, source tests and refused attempts, newest first',
    query: pageQuery.extend({
      cursor: z.string().min(1).max(AUDIT_CURSOR_CHARS_MAX).optional(),
      accountId: objectId.optional(),
      objectId: z.string().min(1).max(OBJECT_ID_CHARS_MAX).optional(),
      kind: auditKind.optional(),
    }),
    handle: ({ services, query }) =>
      listAudit(services, {
        account: query.accountId ?? null,
        object: query.objectId ?? null,
        kind: query.kind ?? null,
        ...toPage(query),
      }),
  }),
];

/** Returns the running call of an ID. Only admission knows its account. */
async function findCall(services: Services, requestId: string): Promise<SlotView | ManagementRefusal> {
  const answer = await services.request(admissionSlots, { account: null, requestId, cursor: null, limit: 1 });
  if (isRefusal(answer)) return answer;
  return answer.slots[0] ?? refuse('not_found', 'no request with this ID is running', 'requestId');
}
