import {
  admissionReleaseSlot,
  admissionSlots,
  catalogSourceHealth,
  type AnswerBodyOf,
} from '@gateway/contracts/messages';
import {
  auditEntryView,
  auditKind,
  isRefusal,
  PAGE_LIMIT_MAX,
  pageOf,
  refuse,
  slotView,
  sourceHealthView,
  type ManagementRefusal,
  type SlotView,
} from '@gateway/contracts/operator';
import { z } from 'zod';
import { listAudit } from './list-audit.js';
import { AUDIT_CURSOR_CHARS_MAX } from './audit-cursor.js';
import { answerGone, answerPage, defineRoute, type Services } from '../route.js';
import { byRequestId, objectId, pageOfQuery, pageQuery } from '../parameters.js';

const OBJECT_ID_CHARS_MAX = 200;
/** Pages in which one call is looked for, where an admission of the release before answers all. */
const CALL_PAGES_MAX = 200;

export const OPERATION_ROUTES = [
  defineRoute({
    id: 'listSlots',
    method: 'GET',
    path: '/slots',
    summary: 'Calls that have not ended, as the gate has them',
    access: 'read',
    query: pageQuery.extend({ accountId: objectId.optional() }),
    answers: { 200: pageOf(slotView) },
    async handle({ services, query }) {
      const question = { account: query.accountId ?? null, ...pageOfQuery(query) };
      return answerPage(await services.request(admissionSlots, question), (page) => page.slots);
    },
  }),
  defineRoute({
    id: 'releaseSlot',
    method: 'DELETE',
    path: '/slots/{requestId}',
    summary: "Takes a call's slot back now and ends the call; its money stays held until its record comes",
    access: 'write',
    params: byRequestId,
    answers: { 204: null },
    refusals: ['state_conflict'],
    async handle({ services, access, params: { requestId }, author }) {
      const call = await findCall(services, requestId);
      if (isRefusal(call)) return call;
      await access.changing({ action: 'end_call', ...author, account: call.accountId, objectId: requestId });
      return answerGone(await services.request(admissionReleaseSlot, { requestId, author }));
    },
  }),
  defineRoute({
    id: 'listSourceHealth',
    method: 'GET',
    path: '/sources/health',
    summary: 'What the running edges remember of the sources that they have tried',
    access: 'read',
    query: pageQuery,
    answers: { 200: pageOf(sourceHealthView) },
    handle: async ({ services, query }) =>
      answerPage(await services.request(catalogSourceHealth, pageOfQuery(query)), (page) => page.sources),
  }),
  defineRoute({
    id: 'listAudit',
    method: 'GET',
    path: '/audit',
    summary: 'Who changed what, signed in, read files, tested sources or was refused, newest first',
    access: 'read',
    query: pageQuery.extend({
      cursor: z.string().min(1).max(AUDIT_CURSOR_CHARS_MAX).optional(),
      accountId: objectId.optional(),
      objectId: z.string().min(1).max(OBJECT_ID_CHARS_MAX).optional(),
      kind: auditKind.optional(),
    }),
    answers: { 200: pageOf(auditEntryView) },
    handle: ({ services, query }) =>
      listAudit(services, {
        account: query.accountId ?? null,
        object: query.objectId ?? null,
        kind: query.kind ?? null,
        ...pageOfQuery(query),
      }),
  }),
];

/** The running call of an id: only admission knows whose it is. */
async function findCall(services: Services, requestId: string): Promise<SlotView | ManagementRefusal> {
  let cursor: string | null = null;
  for (let pages = 0; pages < CALL_PAGES_MAX; pages += 1) {
    const answer: AnswerBodyOf<typeof admissionSlots> = await services.request(admissionSlots, {
      account: null,
      requestId,
      cursor,
      limit: PAGE_LIMIT_MAX,
    });
    if (isRefusal(answer)) return answer;
    // An admission of the release before answers other calls too.
    const call = answer.slots.find((slot) => slot.requestId === requestId);
    if (call !== undefined) return call;
    if (answer.nextCursor === null) return refuse('not_found', 'no call with this id is running', 'requestId');
    cursor = answer.nextCursor;
  }
  return refuse('dependency_unavailable', 'too many calls run to find this one');
}
