import { z } from 'zod';
import { WINDOW_TYPES, WINDOW_UNITS } from '../messages/call.js';
import { objectId, time } from './scalars.js';

/** Percentages of a limit at which an alert is raised. */
export const ALERT_THRESHOLDS = [50, 75, 90, 100] as const;
export const alertThreshold = z.literal(ALERT_THRESHOLDS);
export type AlertThreshold = z.infer<typeof alertThreshold>;

/** An object with a limit: a usage window of the plan, or the monthly cap of a key or member. */
export const alertSubject = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('window'), type: z.enum(WINDOW_TYPES), unit: z.enum(WINDOW_UNITS) }),
  z.object({ kind: z.literal('key_cap'), keyId: objectId }),
  z.object({ kind: z.literal('member_cap'), memberId: objectId }),
]);
export type AlertSubject = z.infer<typeof alertSubject>;

/** A decimal string of USD, or a count of requests. */
const alertAmount = z.union([z.string(), z.int()]);

/**
 * An alert, raised once per subject, period and threshold, with `limit` and `used` of that time.
 */
export const alertView = z.object({
  id: objectId,
  accountId: objectId,
  subject: alertSubject,
  thresholdPercent: alertThreshold,
  limit: alertAmount,
  used: alertAmount,
  periodStart: time,
  periodEnd: time,
  raisedAt: time,
});
export type AlertView = z.infer<typeof alertView>;

export const WEBHOOK_URL_CHARS_MAX = 2_000;

/** The webhook that receives an account's events: HTTPS, and not a private address. */
export const webhookSpec = z.object({
  url: z
    .string()
    .max(WEBHOOK_URL_CHARS_MAX)
    .regex(/^https?:[/][/][!-"$-~]+$/, 'an address that begins with https://, without a fragment'),
  enabled: z.boolean().default(true),
});

export const webhookView = z.object({
  accountId: objectId,
  url: z.string(),
  enabled: z.boolean(),
  createdAt: time,
  changedAt: time,
});
export type WebhookView = z.infer<typeof webhookView>;

/** A webhook with its signing secret, which is returned once after its creation. */
export const webhookWithSecret = webhookView.extend({ secret: z.string().nullable() });

/** The body of a webhook request. `id` is the same in every attempt. */
export const webhookEvent = z.object({
  id: objectId,
  type: z.literal('alert.raised'),
  createdAt: time,
  data: alertView,
});
export type WebhookEvent = z.infer<typeof webhookEvent>;

/** Reason why an attempt failed. `status`: the receiver's status was not 2xx. */
export const WEBHOOK_FAILURES = ['status', 'timeout', 'connection', 'private_address', 'secret_unreadable'] as const;
/** Maximum number of attempts that a delivery shows. Older ones are only counted. */
export const WEBHOOK_ATTEMPTS_SHOWN_MAX = 20;

export const webhookAttempt = z.object({
  at: time,
  /** Null: the event was delivered. */
  failure: z.enum(WEBHOOK_FAILURES).nullable(),
  status: z.int().nullable(),
  durationMs: z.int().min(0),
});
export type WebhookAttempt = z.infer<typeof webhookAttempt>;

/**
 * Delivery of one event to a webhook. `waiting`: there will be another attempt. `failed`: no
 * attempt succeeded in three days. `dropped`: the webhook was disabled or deleted.
 */
export const webhookDeliveryView = z.object({
  eventId: objectId,
  type: z.literal('alert.raised'),
  state: z.enum(['waiting', 'delivered', 'failed', 'dropped']),
  createdAt: time,
  endedAt: time.nullable(),
  attempts: z.int().min(0),
  /** Newest last. */
  lastAttempts: z.array(webhookAttempt).max(WEBHOOK_ATTEMPTS_SHOWN_MAX),
});
export type WebhookDeliveryView = z.infer<typeof webhookDeliveryView>;
