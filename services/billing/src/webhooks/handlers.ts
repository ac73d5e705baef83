import type { Bus } from '@gateway/bus';
import {
  billingAlerts,
  billingApplyCaps,
  billingDeleteWebhook,
  billingGetWebhook,
  billingPutWebhook,
  billingRotateWebhookSecret,
  billingWebhookDeliveries,
} from '@gateway/contracts/messages';
import { applyCaps } from '../alerts/apply-caps.js';
import { showAlerts, showDeliveries } from '../alerts/show-alerts.js';
import type { AlertStore } from './alert-ports.js';
import { deleteWebhook, putWebhook, rotateWebhookSecret, showWebhook, type WebhookDeps } from './webhooks.js';

export interface AlertRequestDeps {
  readonly alerts: AlertStore;
  readonly webhooks: WebhookDeps;
}

/** Opens the doors of alerts and webhooks. */
export function serveAlertRequests(bus: Pick<Bus, 'serve'>, { alerts, webhooks }: AlertRequestDeps): void {
  bus.serve(billingApplyCaps, (body) => applyCaps(alerts, body));
  bus.serve(billingAlerts, (body) => showAlerts(alerts, body));
  bus.serve(billingPutWebhook, (body) => putWebhook(webhooks, body));
  bus.serve(billingGetWebhook, (body) => showWebhook(webhooks, body));
  bus.serve(billingDeleteWebhook, (body) => deleteWebhook(webhooks, body));
  bus.serve(billingRotateWebhookSecret, (body) => rotateWebhookSecret(webhooks, body));
  bus.serve(billingWebhookDeliveries, (body) => showDeliveries(webhooks.store, body));
}
