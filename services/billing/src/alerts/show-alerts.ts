import type { AnswerBodyOf, billingAlerts, billingWebhookDeliveries, ReceivedOf } from '@gateway/contracts/messages';
import { isRefusal, type WebhookDeliveryView } from '@gateway/contracts/operator';
import { pageOf, readNumberCursor } from '../ledger/page.js';
import type { AlertStore, Delivery, WebhookStore } from '../webhooks/alert-ports.js';
import { toAlertView } from './rules.js';

/** The alerts of an account, newest first. */
export async function showAlerts(
  store: Pick<AlertStore, 'alerts'>,
  { account, cursor, limit }: ReceivedOf<typeof billingAlerts>,
): Promise<AnswerBodyOf<typeof billingAlerts>> {
  const place = readNumberCursor(cursor);
  if (isRefusal(place)) return place;
  const alerts = await store.alerts({ account, before: place.after, limit: limit + 1 });
  const { items, nextCursor } = pageOf(alerts, limit, {
    nameOf: ({ number }) => String(number),
    viewOf: ({ alert }) => toAlertView(alert),
  });
  return { alerts: items, nextCursor };
}

/** What became of an account's events, newest first. */
export async function showDeliveries(
  store: Pick<WebhookStore, 'deliveries'>,
  { account, cursor, limit }: ReceivedOf<typeof billingWebhookDeliveries>,
): Promise<AnswerBodyOf<typeof billingWebhookDeliveries>> {
  const place = readNumberCursor(cursor);
  if (isRefusal(place)) return place;
  const deliveries = await store.deliveries({ account, before: place.after, limit: limit + 1 });
  const { items, nextCursor } = pageOf(deliveries, limit, {
    nameOf: ({ number }) => String(number),
    viewOf: toDeliveryView,
  });
  return { deliveries: items, nextCursor };
}

function toDeliveryView({ event, state, createdAt, endedAt, attempts, lastAttempts }: Delivery): WebhookDeliveryView {
  return {
    eventId: event,
    type: 'alert.raised',
    state,
    attempts,
    createdAt: createdAt.toISOString(),
    endedAt: endedAt && endedAt.toISOString(),
    lastAttempts: [...lastAttempts],
  };
}
