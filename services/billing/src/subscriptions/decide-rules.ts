import { type ManagementRefusal, refuse } from '@gateway/contracts/operator';
import { computeAnchorDay } from './calendar-rules.js';
import { type Period, RENEWING_PERIOD_MS_MIN, findShownPeriod } from './period-rules.js';

/** A request for a period. Times are epoch milliseconds, [start, end). */
export interface PeriodRequest {
  readonly account: string;
  readonly planId: string;
  readonly start: number;
  readonly end: number;
  readonly renews: boolean;
}

/** Data that is read under the account's lock to decide a request. */
export interface PeriodInput {
  /** The running and upcoming periods, and the ones that have the start of the requested period. */
  readonly periods: readonly Period[];
  /** The plan's version for new periods; null: the plan does not exist. */
  readonly planVersion: number | null;
  /** True if the account is closed, which means that it cannot get a subscription. */
  readonly closed: boolean;
  /** ID for a new period. */
  readonly newId: string;
  readonly now: number;
}

export interface PeriodWrite {
  readonly change: 'created' | 'changed';
  /** The period that represented the subscription before. */
  readonly before: Period | null;
  readonly period: Period;
  readonly isNew: boolean;
  /** Periods to end now, before their end. */
  readonly ended: readonly string[];
  /** Periods that overlap the start of the requested one; they end when it begins. */
  readonly shortened: readonly string[];
}

export type PeriodDecision =
  | ({ readonly kind: 'write' } & PeriodWrite)
  | { readonly kind: 'unchanged'; readonly period: Period }
  | { readonly kind: 'refused'; readonly refusal: ManagementRefusal };

/**
 * Decides a request for a period. A period with a new start replaces the running one, or follows it
 * if it begins later. A period with the start of an existing period changes that period, which
 * keeps its ID and with it the use of its `monthly` windows and allotments
 * (docs/behaviour.md#windows). Coming periods are kept if an operator created them and if they
 * begin after the end of this one. Renewals are created again.
 */
export function decidePeriod(wanted: PeriodRequest, input: PeriodInput): PeriodDecision {
  const { periods, planVersion, closed, newId, now } = input;
  const refused = closed ? refuse('state_conflict', 'the account is closed') : refusePeriod(wanted, now);
  if (refused !== null) return { kind: 'refused', refusal: refused };
  const same = periods.find(({ start }) => start === wanted.start);
  if (same !== undefined && isSame(same, wanted)) return { kind: 'unchanged', period: same };
  if (planVersion === null) {
    return { kind: 'refused', refusal: refuse('not_found', `there is no plan ${wanted.planId}`, 'planId') };
  }
  const others = periods.filter((period) => period !== same && period.end > now);
  const ended = others.filter((other) => isReplaced(other, wanted, now));
  const shortened = others.filter(
    (other) => !ended.includes(other) && other.start < wanted.start && other.end > wanted.start,
  );
  const before = findShownPeriod(periods, now);
  const anchorDay = same?.end === wanted.end ? same.anchorDay : computeAnchorDay(wanted.start, wanted.end);
  return {
    kind: 'write',
    change: before === null ? 'created' : 'changed',
    before,
    period: { id: newId, renewalOf: null, ...same, ...wanted, planVersion, anchorDay },
    isNew: same === undefined,
    ended: ended.map(({ id }) => id),
    shortened: shortened.map(({ id }) => id),
  };
}

function refusePeriod({ start, end, renews }: PeriodRequest, now: number): ManagementRefusal | null {
  if (start < 0) return refuse('invalid_request', 'a period must begin in 1970 or later', 'periodStart');
  if (end <= now) return refuse('invalid_request', 'the period has ended already', 'periodEnd');
  if (renews && end - start < RENEWING_PERIOD_MS_MIN) {
    return refuse('invalid_request', 'a period that renews must last at least one second', 'periodEnd');
  }
  return null;
}

function isSame(period: Period, { planId, end, renews }: PeriodRequest): boolean {
  return period.planId === planId && period.end === end && period.renews === renews;
}

/**
 * Returns true if the requested period ends another one: the running period if the requested one
 * has begun, later periods that it overlaps, and renewals.
 */
function isReplaced(other: Period, wanted: PeriodRequest, now: number): boolean {
  if (other.start <= now) return wanted.start <= now;
  return other.start > wanted.start && (other.renewalOf !== null || other.start < wanted.end);
}
