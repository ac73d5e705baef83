import type { AlertSubject } from '@gateway/contracts/operator';
import { monthEnd, monthStart, parseRowName, SESSION_5H_MS, WEEK_MS, type WindowUnit } from '@gateway/metering';

/** A balance that can have a limit: which one, and of what period. */
export interface LimitedBalance {
  readonly subject: AlertSubject;
  /**
   * Its subscription period, which says when it begins and ends and which plan limits it; null: a
   * cap, or none is known.
   */
  readonly subscriptionPeriod: string | null;
  /** [start, end) in epoch milliseconds; null: that of the subscription period. */
  readonly bounds: readonly [start: number, end: number] | null;
}

/**
 * Takes a row's name apart; null for a row that has no alerts. A session and a week belong to no
 * subscription period by their names: the plan of the period under which they are charged limits
 * them.
 */
export function limitedBalance(name: string, chargedUnder: string | null): LimitedBalance | null {
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

/** A row's name without its period, as alerts are kept by it, and the period. */
export function splitRowName(name: string): { readonly subject: string; readonly period: string } {
  const at = name.lastIndexOf(':');
  return { subject: name.slice(0, at), period: name.slice(at + 1) };
}

/**
 * What the first part of {@link splitRowName} stands for. @throws RangeError for a text that is
 * none
 */
export function subjectOf(text: string): AlertSubject {
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
