import { z } from 'zod';
import { accountsInviteMember, accountsNames, accountsPutMember, objectId } from '@gateway/contracts/messages';
import { type MemberView, isRefusal } from '@gateway/contracts/operator';
import { type PageMember, invitation, pageMemberPut } from '@gateway/contracts/pages';
import type { RouteResult } from '../../http/route.js';
import { defineRoute, refusePage, tooManyAttempts } from '../route.js';

export const TEAM_ROUTES = [
  defineRoute({
    id: 'inviteMember',
    access: 'manager',
    method: 'POST',
    path: '/accounts/{account}/members',
    body: invitation,
    async handle({ services, account, author, body }): Promise<RouteResult> {
      const question = { account: account.id, spec: body, author };
      const answer = await services.request(accountsInviteMember, question);
      if (isRefusal(answer)) return answer;
      if ('kind' in answer) return tooManyAttempts(answer.retryAfterSeconds);
      return { status: 201, body: toPageMember(answer.member) };
    },
  }),
  defineRoute({
    id: 'putMember',
    access: 'manager',
    method: 'PUT',
    path: '/accounts/{account}/members/{memberId}',
    params: z.object({ memberId: objectId }),
    body: pageMemberPut,
    async handle({ services, account, author, params, body }): Promise<RouteResult> {
      const member = params.memberId;
      const names = await services.request(accountsNames, { account: account.id, keys: [], members: [member] });
      const email = names.members[0]?.email;
      if (email === undefined) return refusePage('not_found', 'the account has no such member');
      const spec = { ...body, email, emailVerified: false };
      const answer = await services.request(accountsPutMember, { account: account.id, member, spec, author });
      return isRefusal(answer) ? answer : { status: 200, body: toPageMember(answer.member) };
    },
  }),
];

/** Hides whether the address is verified, because it may belong to a person in other accounts. */
export function toPageMember({ emailVerified: _emailVerified, ...member }: MemberView): PageMember {
  return member;
}
