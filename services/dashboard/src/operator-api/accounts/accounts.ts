import {
  accountsCreateAccount,
  accountsGetAccount,
  accountsListAccounts,
  accountsSetAccountState,
  billingGetLimits,
  billingPutLimits,
  billingDeleteSubscription,
  billingGetSubscription,
  billingPutSubscription,
} from '@gateway/contracts/messages';
import {
  accountCreate,
  accountView,
  isRefusal,
  limitsSpec,
  pageOf,
  subscriptionSpec,
  subscriptionView,
} from '@gateway/contracts/operator';
import { answerGone, answerPage, answerWith, route } from '../route.js';
import { ofAccount } from '../of-account.js';
import { byId, pageOfQuery, pageQuery } from '../parameters.js';

const stateRoute = (verb: 'suspend' | 'reinstate', summary: string) =>
  route({
    id: `${verb}Account`,
    method: 'POST',
    path: `/accounts/{id}/${verb}`,
    summary,
    access: 'write',
    params: byId,
    answers: { 200: accountView },
    refusals: ['state_conflict', 'not_in_force'],
    async handle({ door, params, actor }) {
      const answer = await door.services.request(accountsSetAccountState, { account: params.id, verb, actor });
      return answerWith(200, answer, ({ account }) => account);
    },
  });

export const ACCOUNT_ROUTES = [
  route({
    id: 'createAccount',
    method: 'POST',
    path: '/accounts',
    summary: 'Makes an account and its owner',
    access: 'write',
    body: accountCreate,
    answers: { 201: accountView },
    refusals: ['state_conflict'],
    async handle({ door, body, actor, command }) {
      const answer = await door.services.request(accountsCreateAccount, { spec: body, actor, command });
      return answerWith(201, answer, ({ account }) => account);
    },
  }),
  route({
    id: 'listAccounts',
    method: 'GET',
    path: '/accounts',
    summary: 'Accounts',
    access: 'read',
    query: pageQuery,
    answers: { 200: pageOf(accountView) },
    handle: async ({ door, query }) =>
      answerPage(await door.services.request(accountsListAccounts, pageOfQuery(query)), (page) => page.accounts),
  }),
  route({
    id: 'getAccount',
    method: 'GET',
    path: '/accounts/{id}',
    summary: 'One account',
    access: 'read',
    params: byId,
    answers: { 200: accountView },
    async handle({ door, params }) {
      const answer = await door.services.request(accountsGetAccount, { account: params.id });
      return answerWith(200, answer, ({ account }) => account);
    },
  }),
  stateRoute('suspend', 'Refuses every key of the account from now on and ends its running calls'),
  stateRoute('reinstate', 'Takes a suspension back'),
];

export const LIMIT_ROUTES = [
  route({
    id: 'getLimits',
    method: 'GET',
    path: '/accounts/{id}/limits',
    summary: "Limits of an account that stand in place of its plan's or the defaults",
    access: 'read',
    params: byId,
    answers: { 200: limitsSpec },
    handle: ({ door, params }) =>
      ofAccount(door, params.id, async () =>
        answerWith(
          200,
          await door.services.request(billingGetLimits, { account: params.id }),
          (answer) => answer.limits,
        ),
      ),
  }),
  route({
    id: 'putLimits',
    method: 'PUT',
    path: '/accounts/{id}/limits',
    summary: 'Replaces the limits of an account as a whole',
    access: 'money',
    params: byId,
    body: limitsSpec,
    answers: { 200: limitsSpec },
    refusals: ['state_conflict', 'not_in_force'],
    handle: ({ door, params, body, actor }) =>
      ofAccount(door, params.id, async () => {
        const answer = await door.services.request(billingPutLimits, { account: params.id, spec: body, actor });
        return answerWith(200, answer, ({ limits }) => limits);
      }),
  }),
];

export const SUBSCRIPTION_ROUTES = [
  route({
    id: 'putSubscription',
    method: 'PUT',
    path: '/accounts/{id}/subscription',
    summary: 'Sets the period that runs, or the one that follows it; a new period is the renewal',
    access: 'money',
    params: byId,
    body: subscriptionSpec,
    answers: { 200: subscriptionView, 201: subscriptionView },
    refusals: ['state_conflict', 'not_in_force'],
    handle: ({ door, params, body, actor }) =>
      ofAccount(door, params.id, async () => {
        const answer = await door.services.request(billingPutSubscription, { account: params.id, spec: body, actor });
        if (isRefusal(answer)) return answer;
        return { status: answer.change === 'created' ? 201 : 200, body: answer.subscription };
      }),
  }),
  route({
    id: 'getSubscription',
    method: 'GET',
    path: '/accounts/{id}/subscription',
    summary: 'The subscription of an account',
    access: 'read',
    params: byId,
    answers: { 200: subscriptionView },
    handle: ({ door, params }) =>
      ofAccount(door, params.id, async () => {
        const answer = await door.services.request(billingGetSubscription, { account: params.id });
        return answerWith(200, answer, ({ subscription }) => subscription);
      }),
  }),
  route({
    id: 'deleteSubscription',
    method: 'DELETE',
    path: '/accounts/{id}/subscription',
    summary: 'Ends the running period and those to come, now',
    access: 'money',
    params: byId,
    answers: { 204: null },
    refusals: ['state_conflict', 'not_in_force'],
    handle: ({ door, params, actor }) =>
      ofAccount(door, params.id, async () =>
        answerGone(await door.services.request(billingDeleteSubscription, { account: params.id, actor })),
      ),
  }),
];
