import {
  accountsCreateKey,
  accountsGetKey,
  accountsListKeys,
  accountsRotateKey,
  accountsSetKeyState,
} from '@gateway/contracts/messages';
import {
  isRefusal,
  keyCreate,
  createdKeyView,
  keyView,
  type ManagementRefusal,
  refuse,
} from '@gateway/contracts/operator';
import { defineRoute, listRoute, readRoute, respondPage, respondWith, withAccount } from '../route.js';
import { z } from 'zod';
import { byId, toPage } from '../parameters.js';

const stateRoute = (verb: 'revoke' | 'suspend' | 'reinstate', summary: string) =>
  defineRoute({
    id: `${verb}Key`,
    method: 'POST',
    path: `/keys/{id}/${verb}`,
    summary,
    access: 'write',
    params: byId,
    answers: { 200: keyView },
    refusals: [
      'no_funding',
      'email_not_verified',
      'key_limit_reached',
      'key_not_active',
      'state_conflict',
      'not_in_force',
    ],
    async handle({ services, params, author }) {
      const answer = await services.request(accountsSetKeyState, { key: params.id, verb, author });
      return respondWith(200, answer, ({ key }) => key);
    },
  });

export const KEY_ROUTES = [
  defineRoute({
    id: 'createKey',
    method: 'POST',
    path: '/accounts/{id}/keys',
    summary: 'Creates an API key and shows its secret once',
    access: 'keys',
    params: byId,
    body: keyCreate,
    answers: { 201: createdKeyView },
    refusals: ['no_funding', 'email_not_verified', 'key_limit_reached', 'state_conflict'],
    async handle({ services, secrets, params, body, author, command }) {
      const { secret, ...stored } = secrets.makeKey();
      const question = { account: params.id, spec: body, ...stored, author, command };
      const answer = await services.request(accountsCreateKey, question);
      return respondWith(201, answer, ({ key, repeated }) => ({ ...key, secret: repeated ? null : secret }));
    },
  }),
  defineRoute({
    ...listRoute(keyView),
    id: 'listKeys',
    path: '/accounts/{id}/keys',
    summary: 'Lists the keys of an account, newest last',
    params: byId,
    handle: ({ services, params, query }) =>
      withAccount(services, params.id, async () => {
        const question = { account: params.id, ...toPage(query) };
        return respondPage(await services.request(accountsListKeys, question), (page) => page.keys);
      }),
  }),
  defineRoute({
    ...readRoute(keyView),
    id: 'getKey',
    path: '/keys/{id}',
    summary: 'Returns an API key',
    params: byId,
    async handle({ services, params }) {
      return respondWith(200, await services.request(accountsGetKey, { key: params.id }), ({ key }) => key);
    },
  }),
  defineRoute({
    id: 'rotateKey',
    method: 'POST',
    path: '/keys/{id}/rotate',
    summary:
      "Rotates a key's secret; the old secret is refused everywhere before the API responds. With not_in_force the field " +
      '`key` has the new secret, but the old one may be accepted until admission responds',
    access: 'keys',
    params: byId,
    answers: { 200: createdKeyView },
    refusals: ['no_funding', 'email_not_verified', 'key_not_active', 'state_conflict', 'not_in_force'],
    refusedWith: { not_in_force: z.object({ key: createdKeyView }) },
    async handle({ services, secrets, params, author, command }) {
      const { secret, ...stored } = secrets.makeKey();
      const answer = await services.request(accountsRotateKey, { key: params.id, ...stored, author, command });
      if (isRefusal(answer)) return answer;
      const key = { ...answer.key, secret: answer.repeated ? null : secret };
      return answer.inForce ? { status: 200, body: key } : { ...rotatedNotInForce(), beside: { key } };
    },
  }),
  stateRoute('revoke', 'Revokes a key permanently'),
  stateRoute('suspend', 'Suspends a key until it is reinstated'),
  stateRoute('reinstate', 'Reinstates a suspended key'),
];

/** The old secret is no longer in the database, so this response must contain the new one. */
function rotatedNotInForce(): ManagementRefusal {
  return refuse(
    'not_in_force',
    'the new secret is in `key`; it takes effect, and the old one is refused, as soon as admission responds',
  );
}
