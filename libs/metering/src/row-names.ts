import { isMonth } from './calendar.js';
import type { Periods, WindowType, WindowUnit } from './windows.js';

/** Row of the settled wallet balance. */
export const WALLET_ROW = 'wallet';
/** Row of the plan's terms. */
export const PLAN_ROW = 'plan';

/** A row name taken apart. Key, member and model ids may contain `:`; months, starts and period ids do not. */
export type RowName =
  | { kind: 'wallet' }
  | { kind: 'plan' }
  | { kind: 'key_month'; keyId: string; month: string }
  | { kind: 'member_month'; memberId: string; month: string }
  | { kind: 'window'; type: 'session_5h' | 'weekly'; unit: WindowUnit; start: number }
  | { kind: 'window'; type: 'monthly'; unit: WindowUnit; subscriptionPeriodId: string }
  | { kind: 'allotment'; unit: WindowUnit; modelId: string; subscriptionPeriodId: string };

/** What decides which rows a call is charged to. */
export interface RowsOfCall {
  key: string;
  /** `null` where the key belongs to no member. */
  member: string | null;
  model: string;
  periods: Periods;
  planFunded: boolean;
  /** The plan's windows; one type may be limited in both units, each with a row of its own. */
  windows: readonly { type: WindowType; unit: WindowUnit }[];
  /** The unit of the plan's allotment for the model; `null` without one. */
  allotment: WindowUnit | null;
}

/** Month's spend of a key. @throws RangeError for an empty id or a wrong month */
export function keyMonthRow(keyId: string, month: string): string {
  return `km:${requireId(keyId)}:${requireMonth(month)}`;
}

/** Month's spend of a member. @throws RangeError for an empty id or a wrong month */
export function memberMonthRow(memberId: string, month: string): string {
  return `mm:${requireId(memberId)}:${requireMonth(month)}`;
}

/** Use of the session that opened at that time (ms). @throws RangeError for a time that is not a count */
export function sessionWindowRow(unit: WindowUnit, start: number): string {
  return `w:session_5h:${unit}:${requireStart(start)}`;
}

/** Use of the week that began at that Monday (ms). @throws RangeError for a time that is not a count */
export function weeklyWindowRow(unit: WindowUnit, start: number): string {
  return `w:weekly:${unit}:${requireStart(start)}`;
}

/** Use of a subscription period. @throws RangeError for an id that is empty or contains `:` */
export function monthlyWindowRow(unit: WindowUnit, subscriptionPeriodId: string): string {
  return `w:monthly:${unit}:${requirePeriodId(subscriptionPeriodId)}`;
}

/** Use of a model's allotment in a subscription period. @throws RangeError for an empty model id or a wrong period id */
export function allotmentRow(unit: WindowUnit, modelId: string, subscriptionPeriodId: string): string {
  return `al:${unit}:${requireId(modelId)}:${requirePeriodId(subscriptionPeriodId)}`;
}

/**
 * The rows whose values a call can change, each once: the wallet, the month of key and member, and for plan-funded
 * calls the windows and the allotment. The plan's terms are not among them. A session that is not open yet has no
 * name and is left out: the script that opens it names it.
 * @throws RangeError when a plan-funded call lacks its week or subscription period
 */
export function rowNamesOfCall(call: RowsOfCall): string[] {
  const { periods } = call;
  const names = new Set([WALLET_ROW, keyMonthRow(call.key, periods.month)]);
  if (call.member !== null) names.add(memberMonthRow(call.member, periods.month));
  if (!call.planFunded) return [...names];
  for (const { type, unit } of call.windows) {
    const name = windowRow(type, unit, periods);
    if (name !== null) names.add(name);
  }
  if (call.allotment !== null) names.add(allotmentRow(call.allotment, call.model, subscriptionPeriodId(periods)));
  return [...names];
}

/** Takes a row name apart; `null` for a text that none of the functions here writes. */
export function parseRowName(name: string): RowName | null {
  if (name === WALLET_ROW) return { kind: 'wallet' };
  if (name === PLAN_ROW) return { kind: 'plan' };
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

function windowRow(type: WindowType, unit: WindowUnit, periods: Periods): string | null {
  switch (type) {
    case 'session_5h':
      return periods.session5h === null ? null : sessionWindowRow(unit, periods.session5h);
    case 'weekly':
      if (periods.weekly === null) throw new RangeError('a plan-funded call has no week');
      return weeklyWindowRow(unit, periods.weekly);
    case 'monthly':
      return monthlyWindowRow(unit, subscriptionPeriodId(periods));
  }
}

function subscriptionPeriodId(periods: Periods): string {
  if (periods.subscription === null) throw new RangeError('a plan-funded call has no subscription period');
  return periods.subscription.id;
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
