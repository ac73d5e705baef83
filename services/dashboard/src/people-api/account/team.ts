import { accountsInviteMember, accountsNames, accountsPutMember, objectId } from '@gateway/contracts/messages';
import { isRefusal, type MemberView } from '@gateway/contracts/operator';
import { invitation, pageMemberPut, type PageMember } from '@gateway/contracts/pages';
import { z } from 'zod';
import { refusePage, tooManyAttempts } from '../refusals.js';
import { accountRoute, type PageHandled } from '../route.js';

export const TEAM_ROUTES = [
  accountRoute('manager', {
    id: 'inviteMember',
    method: 'POST',
    path: '/members',
    body: invitation,
    async handle({ door, account, actor, body }): Promise<PageHandled> {
      const question = { account: account.id, spec: body, actor };
      const answer = await door.services.request(accountsInviteMember, question);
      if (isRefusal(answer)) return answer;
      if ('kind' in answer) return tooManyAttempts(answer.retryAfterSeconds);
      return { status: 201, body: memberOf(answer.member) };
    },
  }),
  accountRoute('manager', {
    id: 'putMember',
    method: 'PUT',
    path: '/members/{memberId}',
    params: z.object({ memberId: objectId }),
    body: pageMemberPut,
    async handle({ door, account, actor, params, body }): Promise<PageHandled> {
      const member = params.memberId;
      const names = await door.services.request(accountsNames, { account: account.id, keys: [], members: [member] });
      const email = names.members[0]?.email;
      if (email === undefined) return refusePage('not_found', 'the account has no such member');
      const spec = { ...body, email, emailVerified: false };
      const answer = await door.services.request(accountsPutMember, { account: account.id, member, spec, actor });
      return isRefusal(answer) ? answer : { status: 200, body: memberOf(answer.member) };
    },
  }),
];

/** Whether the address is verified would tell of whoever has it, in whatever account. */
export function memberOf({ emailVerified: _emailVerified, ...member }: MemberView): PageMember {
  return member;
}
