import type { RaisedAlert } from '@gateway/contracts/messages';
import type { AlertSubject, AlertThreshold, AlertView, WebhookEvent } from '@gateway/contracts/operator';
import { formatUsd } from '@gateway/metering';

/**
 * An alert as it is kept. Times are epoch milliseconds; amounts nano-USD, or calls for a window of
 * requests.
 */
export interface Alert {
  /** Of account, subject, period and threshold: one that is raised again has the same. */
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

/** Shares of a limit in percent, ascending (specification, Events). */
export const THRESHOLDS = [50, 75, 90, 100] as const satisfies readonly AlertThreshold[];

/**
 * The thresholds of a limit that are reached when a balance goes from `before` to `after`, both in
 * the limit's unit. Those that `before` had reached are among them: the limit may have been lowered
 * since, and then the next charge raises them. Which of them are new is decided by the table of
 * alerts, whose key is subject, period and threshold. A row that does not grow (a correction)
 * reaches nothing.
 */
export function alertsCrossed(before: bigint, after: bigint, limit: bigint): AlertThreshold[] {
  if (after <= before) return [];
  return THRESHOLDS.filter((threshold) => after >= reachedAt(limit, threshold));
}

/**
 * The use at which the first threshold above `used` is reached; null: all are. Without a use: the
 * first threshold.
 */
export function nextReach(limit: bigint, used: bigint | null): bigint | null {
  for (const threshold of THRESHOLDS) {
    const at = reachedAt(limit, threshold);
    if (used === null || at > used) return at;
  }
  return null;
}

/** The smallest whole use that is at least so many percent of the limit. */
function reachedAt(limit: bigint, threshold: AlertThreshold): bigint {
  return (limit * BigInt(threshold) + 99n) / 100n;
}
