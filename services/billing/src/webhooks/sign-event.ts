import { createHmac } from 'node:crypto';
import type { WebhookEvent } from '@gateway/contracts/operator';
import type { WebhookRequest } from './alert-ports.js';

export const EVENT_ID_HEADER = 'x-gateway-event-id';
export const TIMESTAMP_HEADER = 'x-gateway-timestamp';
export const SIGNATURE_HEADER = 'x-gateway-signature';

/**
 * One attempt to send an event. The signature is the HMAC-SHA-256 of `<timestamp>.<body>` under the webhook's secret, so
 * that a receiver can refuse what is old or was not sent by us. @param atMs epoch milliseconds of the attempt
 */
export function signedRequest(url: string, secret: string, event: WebhookEvent, atMs: number): WebhookRequest {
  const body = JSON.stringify(event);
  const timestamp = String(Math.floor(atMs / 1_000));
  const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`, 'utf8').digest('hex');
  return {
    url,
    body,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'model-gateway-webhook/1',
      [EVENT_ID_HEADER]: event.id,
      [TIMESTAMP_HEADER]: timestamp,
      [SIGNATURE_HEADER]: `v1=${signature}`,
    },
  };
}
