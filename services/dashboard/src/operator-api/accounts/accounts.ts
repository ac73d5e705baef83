import {
  accountsCloseAccount,
  accountsCreateAccount,
  accountsGetAccount,
  accountsListAccounts,
  accountsSetAccountState,
} from '@gateway/contracts/messages';
import { accountCreate, accountView, scalars } from '@gateway/contracts/operator';
import { refusePermission } from '../access.js';
import { defineRoute, listRoute, readRoute, respondPage, respondWith } from '../route.js';
import { byId, pageQuery, toPage } from '../parameters.js';

const stateRoute = (verb: 'suspend' | 'reinstate', summary: string) =>
  defineRoute({
    id: `${verb}Account`,
    method: 'POST',
    path: `/accounts/{id}/${verb}`,
    summary,
    access: 'write',
    params: byId,
    answers: { 200: accountView },
    refusals: ['state_conflict', 'not_in_force'],
    async handle({ services, params, author }) {
      const answer = await services.request(accountsSetAccountState, { account: params.id, verb, author });
      return respondWith(200, answer, ({ account }) => account);
    },
  });

export const ACCOUNT_ROUTES = [
  defineRoute({
    id: 'createAccount',
    method: 'POST',
    path: '/accounts',
    summary: 'Creates an account and its owner',
    access: 'write',
    body: accountCreate,
    answers: { 201: accountView },
    refusals: ['state_conflict'],
    async handle({ services, body, author, command, may }) {
      // The address may belong to a member of other accounts, who could then create keys there.
      if (body.emailVerified && !may('keys')) return refusePermission('keys', 'emailVerified: true', 'emailVerified');
      const answer = await services.request(accountsCreateAccount, { spec: body, author, command });
      return respondWith(201, answer, ({ account }) => account);
    },
  }),
  defineRoute({
    ...listRoute(accountView),
    id: 'listAccounts',
    path: '/accounts',
    summary: 'Lists accounts; with an external ID, only the account that has it',
    query: pageQuery.extend({ externalId: scalars.externalId.optional() }),
    async handle({ services, query: { externalId, ...query } }) {
      const answer = await services.request(accountsListAccounts, { externalId, ...toPage(query) });
      return respondPage(answer, (page) => page.accounts);
    },
  }),
  defineRoute({
    ...readRoute(accountView),
    id: 'getAccount',
    path: '/accounts/{id}',
    summary: 'Returns an account',
    params: byId,
    async handle({ services, params }) {
      const answer = await services.request(accountsGetAccount, { account: params.id });
      return respondWith(200, answer, ({ account }) => account);
    },
  }),
  stateRoute('suspend', 'Suspends an account: refuses all its keys and ends its running requests'),
  stateRoute('reinstate', 'Reinstates a suspended account'),
  defineRoute({
    id: 'closeAccount',
    method: 'POST',
    path: '/accounts/{id}/close',
    summary:
      'Closes an account permanently: ends its subscription, keys and running requests and erases names and addresses; keeps the ledger. Its wallet must be zero',
    access: 'write',
    params: byId,
    answers: { 200: accountView },
    refusals: ['state_conflict', 'not_in_force'],
    async handle({ services, params, author }) {
      const answer = await services.request(accountsCloseAccount, { account: params.id, author });
      return respondWith(200, answer, ({ account }) => account);
    },
  }),
];
