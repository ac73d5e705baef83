import { type WebhookAttempt, webhookEvent, type WebhookEvent } from '@gateway/contracts/operator';
import { counter } from '@gateway/service-kit';
import { createHmac } from 'node:crypto';
import type { DeliveryStore } from './delivery-store.js';
import type { SecretSeal } from './secrets.js';
import type { WebhookRequest, WebhookSender } from './sender.js';

/** Age of an event after which a failed attempt is the last one. */
export const EVENT_AGE_MS_MAX = 3 * 86_400_000;
const SUCCESS_MIN = 200;
const SUCCESS_MAX = 299;

export interface DeliverEventDeps {
  readonly store: DeliveryStore;
  readonly seal: Pick<SecretSeal, 'open'>;
  readonly sender: WebhookSender;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** An attempt failed and another one follows. */
export class NotDeliveredError extends Error {
  override readonly name = 'NotDeliveredError';
}

const attemptsTotal = counter('gateway_billing_webhook_attempts_total', 'Attempts to deliver events to webhooks', {
  outcome: ['delivered', 'failed'],
});

/**
 * Delivers one event of the outbox, which keeps the events of an account in order. Any status other
 * than 2xx is a failure: it throws, so that the outbox tries again later. An event that was already
 * delivered is not sent again.
 */
export async function deliverEvent(
  { store, seal, sender, now }: DeliverEventDeps,
  row: { readonly body: unknown },
): Promise<void> {
  const event = webhookEvent.parse(row.body);
  const target = await store.target(event.id);
  if (target === null) return store.drop(event.id);
  const atMs = now();
  const secret = seal.open(target.sealedSecret, event.data.accountId);
  const attempt =
    secret === null
      ? attemptAt(atMs, { failure: 'secret_unreadable', status: null, durationMs: 0 })
      : await attemptOnce(sender, { url: target.url, secret, event, atMs });
  attemptsTotal.of({ outcome: attempt.failure === null ? 'delivered' : 'failed' }).add();
  const isOver = atMs - Date.parse(event.createdAt) >= EVENT_AGE_MS_MAX;
  const ended = attempt.failure === null ? 'delivered' : isOver ? 'failed' : null;
  await store.recordAttempt(event.id, attempt, ended);
  if (ended === null) throw new NotDeliveredError(`${attempt.failure} ${attempt.status ?? ''}`.trimEnd());
}

async function attemptOnce(
  sender: WebhookSender,
  { url, secret, event, atMs }: { url: string; secret: string; event: WebhookEvent; atMs: number },
): Promise<WebhookAttempt> {
  const begunMs = performance.now();
  const answer = await sender.post(signRequest(url, secret, event, atMs));
  const durationMs = Math.round(performance.now() - begunMs);
  if ('failure' in answer) return attemptAt(atMs, { failure: answer.failure, status: null, durationMs });
  const { status } = answer;
  const failure = status >= SUCCESS_MIN && status <= SUCCESS_MAX ? null : 'status';
  return attemptAt(atMs, { failure, status, durationMs });
}

function attemptAt(atMs: number, attempt: Omit<WebhookAttempt, 'at'>): WebhookAttempt {
  return { at: new Date(atMs).toISOString(), ...attempt };
}

/** Builds a request for one attempt at `atMs` (epoch milliseconds). */
function signRequest(url: string, secret: string, event: WebhookEvent, atMs: number): WebhookRequest {
  const body = JSON.stringify(event);
  const headers = { 'content-type': 'application/json', 'user-agent': 'model-gateway-webhook/1' };
  return { url, body, headers: { ...headers, ...signWebhook(secret, event.id, Math.floor(atMs / 1_000), body) } };
}

/**
 * Returns the headers by which a receiver rejects forged, changed and old requests, as specified by
 * Standard Webhooks.
 * @param secret `whsec_` and the key in base64
 * @param atS epoch seconds of the attempt
 */
export function signWebhook(secret: string, id: string, atS: number, body: string): Record<string, string> {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${atS}.${body}`, 'utf8').digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(atS), 'webhook-signature': `v1,${signature}` };
}
