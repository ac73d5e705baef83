import type { RaisedAlert } from '@gateway/contracts/messages';
import type { AlertSubject, AlertThreshold, AlertView, WebhookEvent } from '@gateway/contracts/operator';
import { formatUsd } from '@gateway/metering';

/** An alert as it is kept. Times are epoch milliseconds; amounts nano-USD, or calls for a window of requests. */
export interface Alert {
  readonly id: string;
  readonly account: string;
  readonly subject: AlertSubject;
  readonly threshold: AlertThreshold;
  readonly limit: bigint;
  readonly used: bigint;
  readonly periodStart: number;
  readonly periodEnd: number;
  readonly raisedAt: number;
}

/** The form in which accounts is told. */
export function toRaisedAlert(alert: Alert): RaisedAlert {
  return { ...alert, limit: Number(alert.limit), used: Number(alert.used) };
}

export function toAlertView(alert: Alert): AlertView {
  const inCalls = alert.subject.kind === 'window' && alert.subject.unit === 'requests';
  const amount = (value: bigint): string | number => (inCalls ? Number(value) : formatUsd(value));
  return {
    id: alert.id,
    accountId: alert.account,
    subject: alert.subject,
    thresholdPercent: alert.threshold,
    limit: amount(alert.limit),
    used: amount(alert.used),
    periodStart: timeText(alert.periodStart),
    periodEnd: timeText(alert.periodEnd),
    raisedAt: timeText(alert.raisedAt),
  };
}

/** What a webhook gets. The event has the alert's id, so that a receiver knows a repetition. */
export function toWebhookEvent(alert: Alert): WebhookEvent {
  return { id: alert.id, type: 'alert.raised', createdAt: timeText(alert.raisedAt), data: toAlertView(alert) };
}

function timeText(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
