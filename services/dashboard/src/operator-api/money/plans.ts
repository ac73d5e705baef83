import { billingDeletePlan, billingGetPlan, billingListPlans, billingPutPlan } from '@gateway/contracts/messages';
import { isRefusal, pageOf, planPut, planSpec, planView } from '@gateway/contracts/operator';
import { specOf } from '../catalog/spec-of.js';
import { answerGone, answerPage, answerWith, route } from '../route.js';
import { byId, pageOfQuery, pageQuery } from '../parameters.js';

export const PLAN_ROUTES = [
  route({
    id: 'listPlans',
    method: 'GET',
    path: '/plans',
    summary: 'Plans in their newest versions',
    access: 'read',
    query: pageQuery,
    answers: { 200: pageOf(planView) },
    handle: async ({ door, query }) =>
      answerPage(await door.services.request(billingListPlans, pageOfQuery(query)), (page) => page.plans),
  }),
  route({
    id: 'putPlan',
    method: 'PUT',
    path: '/plans/{id}',
    summary: 'Makes a plan, or a new version of it; subscriptions keep theirs until their period ends',
    access: 'money',
    params: byId,
    body: planPut,
    answers: { 200: planView, 201: planView },
    refusals: ['state_conflict', 'not_in_force'],
    async handle({ door, params, body, actor }) {
      const spec = specOf(planSpec, body);
      const answer = await door.services.request(billingPutPlan, { id: params.id, spec, actor });
      if (isRefusal(answer)) return answer;
      return { status: answer.change === 'created' ? 201 : 200, body: answer.plan };
    },
  }),
  route({
    id: 'getPlan',
    method: 'GET',
    path: '/plans/{id}',
    summary: 'One plan',
    access: 'read',
    params: byId,
    answers: { 200: planView },
    handle: async ({ door, params }) =>
      answerWith(200, await door.services.request(billingGetPlan, params), (answer) => answer.plan),
  }),
  route({
    id: 'deletePlan',
    method: 'DELETE',
    path: '/plans/{id}',
    summary: 'Removes a plan that no running or coming subscription is on',
    access: 'money',
    params: byId,
    answers: { 204: null },
    refusals: ['in_use'],
    handle: async ({ door, params, actor }) =>
      answerGone(await door.services.request(billingDeletePlan, { id: params.id, actor })),
  }),
];
