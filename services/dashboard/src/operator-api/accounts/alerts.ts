import {
  billingAlerts,
  billingDeleteWebhook,
  billingGetWebhook,
  billingPutWebhook,
  billingRotateWebhookSecret,
  billingWebhookDeliveries,
} from '@gateway/contracts/messages';
import {
  alertView,
  isRefusal,
  webhookDeliveryView,
  webhookSpec,
  webhookView,
  webhookWithSecret,
} from '@gateway/contracts/operator';
import { defineRoute, listRoute, readRoute, respondDeleted, respondPage, respondWith, withAccount } from '../route.js';
import { byId, toPage } from '../parameters.js';

export const ALERT_ROUTES = [
  defineRoute({
    ...listRoute(alertView),
    id: 'listAlerts',
    path: '/accounts/{id}/alerts',
    summary: 'Lists alerts at 50, 75, 90 and 100 percent of windows and caps, newest first',
    params: byId,
    handle: ({ services, params, query }) =>
      withAccount(services, params.id, async () => {
        const question = { account: params.id, ...toPage(query) };
        return respondPage(await services.request(billingAlerts, question), (page) => page.alerts);
      }),
  }),
];

export const WEBHOOK_ROUTES = [
  defineRoute({
    id: 'putWebhook',
    method: 'PUT',
    path: '/accounts/{id}/webhook',
    summary:
      "Creates or replaces the webhook that receives an account's events; shows the signing secret once, on creation",
    access: 'write',
    params: byId,
    body: webhookSpec,
    answers: { 200: webhookWithSecret, 201: webhookWithSecret },
    refusals: ['state_conflict'],
    handle: ({ services, secrets, params, body, author }) =>
      withAccount(services, params.id, async () => {
        const { secret, sealedSecret } = secrets.makeWebhookSecret(params.id);
        const question = { account: params.id, spec: body, sealedSecret, author };
        const answer = await services.request(billingPutWebhook, question);
        if (isRefusal(answer)) return answer;
        const isNew = answer.change === 'created';
        return { status: isNew ? 201 : 200, body: { ...answer.webhook, secret: isNew ? secret : null } };
      }),
  }),
  defineRoute({
    ...readRoute(webhookView),
    id: 'getWebhook',
    path: '/accounts/{id}/webhook',
    summary: 'Returns the webhook of an account',
    params: byId,
    handle: ({ services, params }) =>
      withAccount(services, params.id, async () => {
        const answer = await services.request(billingGetWebhook, { account: params.id });
        return respondWith(200, answer, ({ webhook }) => webhook);
      }),
  }),
  defineRoute({
    id: 'deleteWebhook',
    method: 'DELETE',
    path: '/accounts/{id}/webhook',
    summary: 'Deletes a webhook and its pending deliveries',
    access: 'write',
    params: byId,
    answers: { 204: null },
    handle: ({ services, params, author }) =>
      withAccount(services, params.id, async () =>
        respondDeleted(await services.request(billingDeleteWebhook, { account: params.id, author })),
      ),
  }),
  defineRoute({
    id: 'rotateWebhookSecret',
    method: 'POST',
    path: '/accounts/{id}/webhook/rotate-secret',
    summary: "Rotates a webhook's signing secret and shows it once; all later attempts are signed with it",
    access: 'write',
    params: byId,
    answers: { 200: webhookWithSecret },
    handle: ({ services, secrets, params, author, command }) =>
      withAccount(services, params.id, async () => {
        const { secret, sealedSecret } = secrets.makeWebhookSecret(params.id);
        const question = { account: params.id, sealedSecret, author, command };
        const answer = await services.request(billingRotateWebhookSecret, question);
        return respondWith(200, answer, ({ webhook, repeated }) => ({ ...webhook, secret: repeated ? null : secret }));
      }),
  }),
  defineRoute({
    ...listRoute(webhookDeliveryView),
    id: 'listWebhookDeliveries',
    path: '/accounts/{id}/webhook/deliveries',
    summary: "Lists the deliveries of an account's events, newest first; kept for 30 days after they ended",
    params: byId,
    handle: ({ services, params, query }) =>
      withAccount(services, params.id, async () => {
        const question = { account: params.id, ...toPage(query) };
        return respondPage(await services.request(billingWebhookDeliveries, question), (page) => page.deliveries);
      }),
  }),
];
