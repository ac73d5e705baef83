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
  keyCreated,
  keyView,
  type ManagementRefusal,
  pageOf,
  refuse,
} from '@gateway/contracts/operator';
import { answerPage, answerWith, defineRoute, ofAccount } from '../route.js';
import { z } from 'zod';
import { byId, pageOfQuery, pageQuery } from '../parameters.js';

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
      return answerWith(200, answer, ({ key }) => key);
    },
  });

export const KEY_ROUTES = [
  defineRoute({
    id: 'createKey',
    method: 'POST',
    path: '/accounts/{id}/keys',
    summary: 'Makes an API key; its secret is shown once',
    access: 'keys',
    params: byId,
    body: keyCreate,
    answers: { 201: keyCreated },
    refusals: ['no_funding', 'email_not_verified', 'key_limit_reached', 'state_conflict'],
    async handle({ services, secrets, params, body, author, command }) {
      const { secret, ...stored } = secrets.makeKey();
      const question = { account: params.id, spec: body, ...stored, author, command };
      const answer = await services.request(accountsCreateKey, question);
      return answerWith(201, answer, ({ key, repeated }) => ({ ...key, secret: repeated ? null : secret }));
    },
  }),
  defineRoute({
    id: 'listKeys',
    method: 'GET',
    path: '/accounts/{id}/keys',
    summary: 'Keys of an account, newest last',
    access: 'read',
    params: byId,
    query: pageQuery,
    answers: { 200: pageOf(keyView) },
    handle: ({ services, params, query }) =>
      ofAccount(services, params.id, async () => {
        const question = { account: params.id, ...pageOfQuery(query) };
        return answerPage(await services.request(accountsListKeys, question), (page) => page.keys);
      }),
  }),
  defineRoute({
    id: 'getKey',
    method: 'GET',
    path: '/keys/{id}',
    summary: 'One key',
    access: 'read',
    params: byId,
    answers: { 200: keyView },
    async handle({ services, params }) {
      return answerWith(200, await services.request(accountsGetKey, { key: params.id }), ({ key }) => key);
    },
  }),
  defineRoute({
    id: 'rotateKey',
    method: 'POST',
    path: '/keys/{id}/rotate',
    summary:
      'Gives a key another secret; the old one is refused everywhere when this is answered. With not_in_force the new secret is ' +
      'that of the key and stands in `key`, but the old one may pass until admission answers',
    access: 'keys',
    params: byId,
    answers: { 200: keyCreated },
    refusals: ['no_funding', 'email_not_verified', 'key_not_active', 'state_conflict', 'not_in_force'],
    refusedWith: { not_in_force: z.object({ key: keyCreated }) },
    async handle({ services, secrets, params, author, command }) {
      const { secret, ...stored } = secrets.makeKey();
      const answer = await services.request(accountsRotateKey, { key: params.id, ...stored, author, command });
      if (isRefusal(answer)) return answer;
      const key = { ...answer.key, secret: answer.repeated ? null : secret };
      return answer.inForce ? { status: 200, body: key } : { ...rotatedNotInForce(), beside: { key } };
    },
  }),
  stateRoute('revoke', 'Ends a key for good'),
  stateRoute('suspend', 'Refuses a key until it is reinstated'),
  stateRoute('reinstate', 'Takes a suspension back'),
];

/**
 * The old secret is gone from the database: without the new one in this answer nobody would have
 * any.
 */
function rotatedNotInForce(): ManagementRefusal {
  return refuse(
    'not_in_force',
    'the key has the secret in `key`; it will be in force, and the old one refused, as soon as admission answers',
  );
}
