import { accountsCreateMember, accountsNames, accountsPutMember, objectId } from '@gateway/contracts/messages';
import { isRefusal } from '@gateway/contracts/operator';
import { invitation, pageMemberPut } from '@gateway/contracts/pages';
import { z } from 'zod';
import { refusePage } from '../domain/page-refusal.js';
import { accountRoute, type PageHandled } from '../pages/page-route.js';

export const TEAM_ROUTES = [
  accountRoute('manager', {
    id: 'inviteMember',
    method: 'POST',
    path: '/members',
    body: invitation,
    async handle({ door, account, actor, body }): Promise<PageHandled> {
      // Only the mail proves an address.
      const spec = { ...body, emailVerified: false };
      const answer = await door.services.request(accountsCreateMember, {
        account: account.id,
        spec,
        actor,
        invite: true,
      });
      return isRefusal(answer) ? answer : { status: 201, body: answer.member };
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
      return isRefusal(answer) ? answer : { status: 200, body: answer.member };
    },
  }),
];
