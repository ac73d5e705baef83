import {
  billingDeletePlan,
  billingDeleteSubscription,
  billingGetLimits,
  billingGetPlan,
  billingGetSubscription,
  billingListPlans,
  billingPutLimits,
  billingPutPlan,
  billingPutSubscription,
} from '@gateway/contracts/messages';
import {
  isRefusal,
  limitsSpec,
  planPut,
  planSpec,
  planView,
  subscriptionSpec,
  subscriptionView,
} from '@gateway/contracts/operator';
import { defineRoute, listRoute, readRoute, respondDeleted, respondPage, respondWith, withAccount } from '../route.js';
import { byId, toPage, toSpec } from '../parameters.js';

export const PLAN_ROUTES = [
  defineRoute({
    ...listRoute(planView),
    id: 'listPlans',
    path: '/plans',
    summary: 'Lists plans in their newest versions',
    handle: async ({ services, query }) =>
      respondPage(await services.request(billingListPlans, toPage(query)), (page) => page.plans),
  }),
  defineRoute({
    id: 'putPlan',
    method: 'PUT',
    path: '/plans/{id}',
    summary: 'Creates a plan, or a new version of it; subscriptions keep their version until their period ends',
    access: 'money',
    params: byId,
    body: planPut,
    answers: { 200: planView, 201: planView },
    refusals: ['state_conflict', 'not_in_force'],
    async handle({ services, params, body, author }) {
      const spec = toSpec(planSpec, body);
      const answer = await services.request(billingPutPlan, { id: params.id, spec, author });
      if (isRefusal(answer)) return answer;
      return { status: answer.change === 'created' ? 201 : 200, body: answer.plan };
    },
  }),
  defineRoute({
    ...readRoute(planView),
    id: 'getPlan',
    path: '/plans/{id}',
    summary: 'Returns a plan',
    params: byId,
    handle: async ({ services, params }) =>
      respondWith(200, await services.request(billingGetPlan, params), (answer) => answer.plan),
  }),
  defineRoute({
    id: 'deletePlan',
    method: 'DELETE',
    path: '/plans/{id}',
    summary: 'Deletes a plan that no current or future subscription uses',
    access: 'money',
    params: byId,
    answers: { 204: null },
    refusals: ['in_use'],
    handle: async ({ services, params, author }) =>
      respondDeleted(await services.request(billingDeletePlan, { id: params.id, author })),
  }),
];

export const LIMIT_ROUTES = [
  defineRoute({
    ...readRoute(limitsSpec),
    id: 'getLimits',
    path: '/accounts/{id}/limits',
    summary: "Returns the limits of an account that override its plan's and the defaults",
    params: byId,
    handle: ({ services, params }) =>
      withAccount(services, params.id, async () =>
        respondWith(200, await services.request(billingGetLimits, { account: params.id }), (answer) => answer.limits),
      ),
  }),
  defineRoute({
    id: 'putLimits',
    method: 'PUT',
    path: '/accounts/{id}/limits',
    summary: 'Replaces all limits of an account',
    access: 'money',
    params: byId,
    body: limitsSpec,
    answers: { 200: limitsSpec },
    refusals: ['state_conflict', 'not_in_force'],
    handle: ({ services, params, body, author }) =>
      withAccount(services, params.id, async () => {
        const answer = await services.request(billingPutLimits, { account: params.id, spec: body, author });
        return respondWith(200, answer, ({ limits }) => limits);
      }),
  }),
];

export const SUBSCRIPTION_ROUTES = [
  defineRoute({
    id: 'putSubscription',
    method: 'PUT',
    path: '/accounts/{id}/subscription',
    summary: 'Sets the current period of a subscription, or the next one; a new period renews the subscription',
    access: 'money',
    params: byId,
    body: subscriptionSpec,
    answers: { 200: subscriptionView, 201: subscriptionView },
    refusals: ['state_conflict', 'not_in_force'],
    handle: ({ services, params, body, author }) =>
      withAccount(services, params.id, async () => {
        const answer = await services.request(billingPutSubscription, { account: params.id, spec: body, author });
        if (isRefusal(answer)) return answer;
        return { status: answer.change === 'created' ? 201 : 200, body: answer.subscription };
      }),
  }),
  defineRoute({
    ...readRoute(subscriptionView),
    id: 'getSubscription',
    path: '/accounts/{id}/subscription',
    summary: 'Returns the subscription of an account',
    params: byId,
    handle: ({ services, params }) =>
      withAccount(services, params.id, async () => {
        const answer = await services.request(billingGetSubscription, { account: params.id });
        return respondWith(200, answer, ({ subscription }) => subscription);
      }),
  }),
  defineRoute({
    id: 'deleteSubscription',
    method: 'DELETE',
    path: '/accounts/{id}/subscription',
    summary: 'Ends a subscription now, with all future periods',
    access: 'money',
    params: byId,
    answers: { 204: null },
    refusals: ['state_conflict', 'not_in_force'],
    handle: ({ services, params, author }) =>
      withAccount(services, params.id, async () =>
        respondDeleted(await services.request(billingDeleteSubscription, { account: params.id, author })),
      ),
  }),
];
