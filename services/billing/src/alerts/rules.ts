import type { RaisedAlert } from '@gateway/contracts/messages';
import type { AlertSubject, AlertThreshold, AlertView, WebhookEvent } from '@gateway/contracts/operator';
import { formatUsd } from '@gateway/metering';

/** A stored alert. Times are epoch milliseconds; amounts are nano-USD, or requests. */
export interface Alert {
  /** Derived from account, subject, period and threshold: the same alert has the same ID. */
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

/** Converts an alert to the message for accounts. */
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
    periodStart: formatTime(alert.periodStart),
    periodEnd: formatTime(alert.periodEnd),
    raisedAt: formatTime(alert.raisedAt),
  };
}

/**
 * Converts an alert to the event for a webhook. The event has the alert's ID, so that the receiver
 * recognizes a repetition.
 */
export function toWebhookEvent(alert: Alert): WebhookEvent {
  return { id: alert.id, type: 'alert.raised', createdAt: formatTime(alert.raisedAt), data: toAlertView(alert) };
}

function formatTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** Percentages of a limit, ascending (specification, Events). */
export const THRESHOLDS = [50, 75, 90, 100] as const satisfies readonly AlertThreshold[];

/**
 * Returns the thresholds that are reached when a balance grows from `before` to `after`, both in
 * the limit's unit. Thresholds that `before` had already reached are included: after an operator
 * lowers the limit, the next charge raises them. The alerts table, with the key subject, period and
 * threshold, decides which of them are new. A balance that does not grow (a correction) reaches
 * nothing.
 */
export function findCrossedThresholds(before: bigint, after: bigint, limit: bigint): AlertThreshold[] {
  if (after <= before) return [];
  return THRESHOLDS.filter((threshold) => after >= computeThresholdUse(limit, threshold));
}

/**
 * Returns the use that reaches the first threshold above `used`; null if all are reached. If `used`
 * is null, returns the use that reaches the first threshold.
 */
export function computeNextReach(limit: bigint, used: bigint | null): bigint | null {
  for (const threshold of THRESHOLDS) {
    const at = computeThresholdUse(limit, threshold);
    if (used === null || at > used) return at;
  }
  return null;
}

/** Returns the smallest whole use that is at least the given percentage of the limit. */
function computeThresholdUse(limit: bigint, threshold: AlertThreshold): bigint {
  return (limit * BigInt(threshold) + 99n) / 100n;
}
