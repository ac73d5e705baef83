import type { AlertSubject } from '@gateway/contracts/operator';
import { monthEnd, monthStart, parseRowName, SESSION_5H_MS, WEEK_MS, type WindowUnit } from '@gateway/metering';

/** A balance that can have a limit, and the period of the limit. */
export interface LimitedBalance {
  readonly subject: AlertSubject;
  /**
   * The subscription period whose plan limits the balance and whose start and end apply. Null for a
   * cap, or if no period is known.
   */
  readonly subscriptionPeriod: string | null;
  /** [start, end) in epoch milliseconds; null: the bounds of the subscription period. */
  readonly bounds: readonly [start: number, end: number] | null;
}

/**
 * Parses a balance name; returns null for a balance without alerts. The names of sessions and weeks
 * contain no subscription period, so the plan of the period under which they are charged limits
 * them.
 */
export function parseLimitedBalance(name: string, chargedUnder: string | null): LimitedBalance | null {
  const row = parseRowName(name);
  switch (row?.kind) {
    case 'key_month':
      return cap({ kind: 'key_cap', keyId: row.keyId }, row.month);
    case 'member_month':
      return cap({ kind: 'member_cap', memberId: row.memberId }, row.month);
    case 'window': {
      const subject = { kind: 'window', type: row.type, unit: row.unit } as const;
      if (row.type === 'monthly') return { subject, subscriptionPeriod: row.subscriptionPeriodId, bounds: null };
      const lengthMs = row.type === 'weekly' ? WEEK_MS : SESSION_5H_MS;
      return { subject, subscriptionPeriod: chargedUnder, bounds: [row.start, row.start + lengthMs] };
    }
    default:
      return null;
  }
}

/** Splits a balance name into the alert subject and the period. */
export function splitRowName(name: string): { readonly subject: string; readonly period: string } {
  const at = name.lastIndexOf(':');
  return { subject: name.slice(0, at), period: name.slice(at + 1) };
}

/**
 * Parses the first part of {@link splitRowName}.
 * @throws RangeError if the text is not an alert subject
 */
export function parseAlertSubject(text: string): AlertSubject {
  const [kind = '', first = '', second = ''] = text.split(':');
  const id = text.slice(kind.length + 1);
  if (kind === 'km') return { kind: 'key_cap', keyId: id };
  if (kind === 'mm') return { kind: 'member_cap', memberId: id };
  const type = (['session_5h', 'weekly', 'monthly'] as const).find((known) => known === first);
  const unit = (['usd', 'requests'] as readonly WindowUnit[]).find((known) => known === second);
  if (kind !== 'w' || type === undefined || unit === undefined)
    throw new RangeError(`not the subject of an alert: ${text}`);
  return { kind: 'window', type, unit };
}

function cap(subject: AlertSubject, month: string): LimitedBalance {
  return { subject, subscriptionPeriod: null, bounds: [monthStart(month), monthEnd(month)] };
}
