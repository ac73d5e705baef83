import { z } from 'zod';
import {
  PAGE_LIMIT_MAX,
  alertSubject,
  alertThreshold,
  alertView,
  cursor,
  managementRefusal,
  webhookDeliveryView,
  webhookSpec,
  webhookView,
} from '../operator/index.js';
import { commandAuthor } from './access.js';
import { managementBy, request } from './message.js';
import { commandId, count, epochMs, nanoUsd, nanoUsdPositive, objectId } from './scalars.js';

/** An alert in messages: amounts in nano-USD, or requests for a window of requests. */
export const raisedAlert = z.object({
  id: objectId,
  account: objectId,
  subject: alertSubject,
  threshold: alertThreshold,
  limit: nanoUsdPositive,
  used: nanoUsd,
  periodStart: epochMs,
  periodEnd: epochMs,
  raisedAt: epochMs,
});
export type RaisedAlert = z.infer<typeof raisedAlert>;

/** Requests an alert email from accounts. A repeated alert sends no email. */
export const alertRaised = request({
  name: 'alert.raised',
  sentBy: ['billing'],
  servedBy: ['accounts'],
  timeoutMs: 3_000,
  body: raisedAlert,
  answer: z.object({ accepted: z.literal(true) }),
});

/**
 * Sends billing the monthly caps of keys and members, for alerts only; admission enforces caps.
 * Versions are those of the objects, and the newer one wins in any order of arrival. A null cap
 * means no cap.
 */
export const billingApplyCaps = request({
  name: 'billing.apply-caps',
  sentBy: ['accounts'],
  servedBy: ['billing'],
  timeoutMs: 3_000,
  body: z.object({
    account: objectId,
    caps: z
      .array(
        z.object({
          kind: z.enum(['key', 'member']),
          id: objectId,
          capNanoUsd: nanoUsdPositive.nullable(),
          version: count,
        }),
      )
      .min(1)
      .max(100),
  }),
  answer: z.object({ applied: z.literal(true) }),
});

const management = managementBy('billing');
const page = { account: objectId, cursor: cursor.nullable(), limit: z.int().min(1).max(PAGE_LIMIT_MAX) };
const nextCursor = z.string().nullable();
/** Sealed for GATEWAY_WEBHOOK_PUBLIC_KEY with the context `webhook:<account>`. */
const sealedSecret = z.string().min(1).max(1_000);

/** Newest first. */
export const billingAlerts = request({
  ...management,
  name: 'billing.alerts',
  body: z.object(page),
  answer: z.union([z.object({ alerts: z.array(alertView), nextCursor }), managementRefusal]),
});

/** Stores the secret only for a new webhook. An existing webhook keeps its secret. */
export const billingPutWebhook = request({
  ...management,
  name: 'billing.put-webhook',
  body: z.object({ account: objectId, spec: webhookSpec, sealedSecret, author: commandAuthor }),
  answer: z.union([
    z.object({ change: z.enum(['created', 'changed', 'unchanged']), webhook: webhookView }),
    managementRefusal,
  ]),
});

export const billingGetWebhook = request({
  ...management,
  name: 'billing.get-webhook',
  body: z.object({ account: objectId }),
  answer: z.union([z.object({ webhook: webhookView }), managementRefusal]),
});

/** Deletes a webhook and drops its waiting deliveries. */
export const billingDeleteWebhook = request({
  ...management,
  name: 'billing.delete-webhook',
  body: z.object({ account: objectId, author: commandAuthor }),
  answer: z.union([z.object({ deleted: z.literal(true) }), managementRefusal]),
});

/** Signs every later attempt with the new secret. Repeating the command changes nothing. */
export const billingRotateWebhookSecret = request({
  ...management,
  name: 'billing.rotate-webhook-secret',
  body: z.object({ account: objectId, sealedSecret, author: commandAuthor, command: commandId.optional() }),
  answer: z.union([z.object({ webhook: webhookView, repeated: z.boolean() }), managementRefusal]),
});

/** Newest first. */
export const billingWebhookDeliveries = request({
  ...management,
  name: 'billing.webhook-deliveries',
  body: z.object(page),
  answer: z.union([z.object({ deliveries: z.array(webhookDeliveryView), nextCursor }), managementRefusal]),
});
