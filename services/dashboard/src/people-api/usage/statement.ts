import { isRefusal } from '@gateway/contracts/operator';
import { billingStatement } from '@gateway/contracts/messages';
import { pageStatementQuery, type PageStatement } from '@gateway/contracts/pages';
import { accountRoute, type PageHandled } from '../route.js';
import { namesOf } from '../account/names.js';

export const STATEMENT_ROUTES = [
  accountRoute('manager', {
    id: 'getStatement',
    method: 'GET',
    path: '/statement',
    query: pageStatementQuery,
    async handle({ door, account, query }): Promise<PageHandled> {
      const answer = await door.services.request(billingStatement, { account: account.id, month: query.month });
      if (isRefusal(answer)) return answer;
      const { byKey, byMember, ...statement } = answer.statement;
      const names = await namesOf(door.services, account.id, {
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
