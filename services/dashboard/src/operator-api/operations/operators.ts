import { accountsCreateOperator, accountsDeleteOperator, accountsListOperators } from '@gateway/contracts/messages';
import { operatorCreate, operatorCreated, operatorView } from '@gateway/contracts/operator';
import { defineRoute, listRoute, respondDeleted, respondPage, respondWith } from '../route.js';
import { byId, toPage } from '../parameters.js';

export const OPERATOR_ROUTES = [
  defineRoute({
    id: 'createOperator',
    method: 'POST',
    path: '/operators',
    summary: 'Creates an operator and shows the token once',
    access: 'operators',
    body: operatorCreate,
    answers: { 201: operatorCreated },
    refusals: ['state_conflict'],
    async handle({ services, secrets, body, author, command }) {
      const { token, digest } = secrets.makeOperatorToken();
      const answer = await services.request(accountsCreateOperator, { spec: body, digest, author, command });
      return respondWith(201, answer, ({ operator, repeated }) => ({ ...operator, token: repeated ? null : token }));
    },
  }),
  defineRoute({
    ...listRoute(operatorView),
    id: 'listOperators',
    path: '/operators',
    summary: 'Lists named operators, without root',
    access: 'operators',
    handle: async ({ services, query }) =>
      respondPage(await services.request(accountsListOperators, toPage(query)), (page) => page.operators),
  }),
  defineRoute({
    id: 'deleteOperator',
    method: 'DELETE',
    path: '/operators/{id}',
    summary: 'Deletes an operator; the token is refused at once',
    access: 'operators',
    params: byId,
    answers: { 204: null },
    handle: async ({ services, params, author }) =>
      respondDeleted(await services.request(accountsDeleteOperator, { operator: params.id, author })),
  }),
];
