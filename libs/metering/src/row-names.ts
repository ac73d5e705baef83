import { isMonth } from './calendar.js';
import type { WindowUnit } from './windows.js';

/** Row of the settled wallet balance. */
export const WALLET_ROW = 'wallet';
/** A parsed row name. Key, member and model IDs may contain `:`, the other parts do not. */
export type RowName =
  | { kind: 'wallet' }
  | { kind: 'key_month'; keyId: string; month: string }
  | { kind: 'member_month'; memberId: string; month: string }
  | { kind: 'window'; type: 'session_5h' | 'weekly'; unit: WindowUnit; start: number }
  | { kind: 'window'; type: 'monthly'; unit: WindowUnit; subscriptionPeriodId: string }
  | { kind: 'allotment'; unit: WindowUnit; modelId: string; subscriptionPeriodId: string };

/**
 * Row of a key's spend in a month.
 * @throws RangeError for an empty ID or an invalid month
 */
export function keyMonthRow(keyId: string, month: string): string {
  return `km:${requireId(keyId)}:${requireMonth(month)}`;
}

/**
 * Row of a member's spend in a month.
 * @throws RangeError for an empty ID or an invalid month
 */
export function memberMonthRow(memberId: string, month: string): string {
  return `mm:${requireId(memberId)}:${requireMonth(month)}`;
}

/**
 * Row of the use of the session that opened at this time (ms).
 * @throws RangeError for a time that is not a count
 */
export function sessionWindowRow(unit: WindowUnit, start: number): string {
  return `w:session_5h:${unit}:${requireStart(start)}`;
}

/**
 * Row of the use of the week that began at this Monday (ms).
 * @throws RangeError for a time that is not a count
 */
export function weeklyWindowRow(unit: WindowUnit, start: number): string {
  return `w:weekly:${unit}:${requireStart(start)}`;
}

/** Row of a subscription period's use. @throws RangeError for an ID that is empty or has `:` */
export function monthlyWindowRow(unit: WindowUnit, subscriptionPeriodId: string): string {
  return `w:monthly:${unit}:${requirePeriodId(subscriptionPeriodId)}`;
}

/**
 * Row of the use of a model's allotment in a subscription period.
 * @throws RangeError for an empty model ID or an invalid period ID
 */
export function allotmentRow(unit: WindowUnit, modelId: string, subscriptionPeriodId: string): string {
  return `al:${unit}:${requireId(modelId)}:${requirePeriodId(subscriptionPeriodId)}`;
}

/** Parses a row name; `null` for a text that none of these functions writes. */
export function parseRowName(name: string): RowName | null {
  if (name === WALLET_ROW) return { kind: 'wallet' };
  const first = name.indexOf(':');
  const last = name.lastIndexOf(':');
  const middle = name.slice(first + 1, last);
  const tail = name.slice(last + 1);
  if (first < 0 || middle === '' || tail === '') return null;
  switch (name.slice(0, first)) {
    case 'km':
      return isMonth(tail) ? { kind: 'key_month', keyId: middle, month: tail } : null;
    case 'mm':
      return isMonth(tail) ? { kind: 'member_month', memberId: middle, month: tail } : null;
    case 'w':
      return parseWindow(middle, tail);
    case 'al':
      return parseAllotment(middle, tail);
    default:
      return null;
  }
}

function parseWindow(middle: string, tail: string): RowName | null {
  const [type, unit, ...more] = middle.split(':');
  if (!isUnit(unit) || more.length > 0) return null;
  if (type === 'monthly') return { kind: 'window', type, unit, subscriptionPeriodId: tail };
  if (type !== 'session_5h' && type !== 'weekly') return null;
  const start = Number(tail);
  return isStart(start) && String(start) === tail ? { kind: 'window', type, unit, start } : null;
}

function parseAllotment(middle: string, tail: string): RowName | null {
  const unitEnd = middle.indexOf(':');
  const unit = middle.slice(0, unitEnd);
  const modelId = middle.slice(unitEnd + 1);
  if (unitEnd < 0 || modelId === '' || !isUnit(unit)) return null;
  return { kind: 'allotment', unit, modelId, subscriptionPeriodId: tail };
}

function isUnit(text: string | undefined): text is WindowUnit {
  return text === 'usd' || text === 'requests';
}

function isStart(start: number): boolean {
  return Number.isSafeInteger(start) && start >= 0;
}

function requireStart(start: number): number {
  if (!isStart(start)) throw new RangeError(`not a start in ms since the epoch: ${start}`);
  return start;
}

function requireMonth(month: string): string {
  if (!isMonth(month)) throw new RangeError(`not a month: ${month}`);
  return month;
}

function requireId(id: string): string {
  if (id === '') throw new RangeError('an id is never empty');
  return id;
}

function requirePeriodId(id: string): string {
  if (id === '' || id.includes(':')) throw new RangeError(`not a subscription period id: ${id}`);
  return id;
}
