import {
  accountsCreateMember,
  accountsDeleteMember,
  accountsListMembers,
  accountsPutMember,
  MEMBER_PERMISSIONS,
} from '@gateway/contracts/messages';
import { memberCreate, memberPut, memberView } from '@gateway/contracts/operator';
import { defineRoute, listRoute, respondDeleted, respondPage, respondWith, withAccount } from '../route.js';
import { byId, byMember, toPage } from '../parameters.js';

export const MEMBER_ROUTES = [
  defineRoute({
    id: 'createMember',
    method: 'POST',
    path: '/accounts/{id}/members',
    summary: 'Adds a member, who can create keys',
    access: 'keys',
    params: byId,
    body: memberCreate,
    answers: { 201: memberView },
    refusals: ['state_conflict'],
    async handle({ services, params, body, author, command }) {
      const question = { account: params.id, spec: body, author, command };
      return respondWith(201, await services.request(accountsCreateMember, question), ({ member }) => member);
    },
  }),
  defineRoute({
    ...listRoute(memberView),
    id: 'listMembers',
    path: '/accounts/{id}/members',
    summary: 'Lists the members of an account, including its owner',
    params: byId,
    handle: ({ services, params, query }) =>
      withAccount(services, params.id, async () => {
        const question = { account: params.id, ...toPage(query) };
        return respondPage(await services.request(accountsListMembers, question), (page) => page.members);
      }),
  }),
  defineRoute({
    id: 'putMember',
    method: 'PUT',
    path: '/accounts/{id}/members/{memberId}',
    summary:
      'Replaces a member; a new cap takes effect before the API responds. A higher role, a verified address and another cap need the role admin',
    access: 'write',
    params: byMember,
    body: memberPut,
    answers: { 200: memberView },
    refusals: ['state_conflict', 'not_in_force'],
    async handle({ services, params, body, author, may }) {
      const missingPermissions = MEMBER_PERMISSIONS.filter((right) => !may(right));
      const question = { account: params.id, member: params.memberId, spec: body, author, missingPermissions };
      return respondWith(200, await services.request(accountsPutMember, question), ({ member }) => member);
    },
  }),
  defineRoute({
    id: 'deleteMember',
    method: 'DELETE',
    path: '/accounts/{id}/members/{memberId}',
    summary: 'Removes a member who has no keys and is not the owner',
    access: 'write',
    params: byMember,
    answers: { 204: null },
    refusals: ['in_use', 'state_conflict'],
    async handle({ services, params, author }) {
      const question = { account: params.id, member: params.memberId, author };
      return respondDeleted(await services.request(accountsDeleteMember, question));
    },
  }),
];
