import { type ManagementRefusal, refuse } from '@gateway/contracts/operator';
import { anchorDayOf } from './calendar-rules.js';
import { type Period, RENEWING_PERIOD_MS_MIN, shownPeriod } from './period-rules.js';

/** The period that an operator asks for. Times are epoch milliseconds, [start, end). */
export interface PeriodRequest {
  readonly account: string;
  readonly planId: string;
  readonly start: number;
  readonly end: number;
  readonly renews: boolean;
}

/** What is known, under the account's lock, when a wish is decided. */
export interface PeriodInput {
  /** Those that run or come, and those that begin when the wished one does. */
  readonly periods: readonly Period[];
  /** The plan's version for new periods; null: there is no such plan. */
  readonly planVersion: number | null;
  /** The account is closed: it gets no subscription any more. */
  readonly closed: boolean;
  /** Id for a period that is made. */
  readonly newId: string;
  readonly now: number;
}

export interface PeriodWrite {
  readonly change: 'created' | 'changed';
  /** What stood for the subscription before. */
  readonly before: Period | null;
  readonly period: Period;
  readonly isNew: boolean;
  /** Periods that end now, before their time. */
  readonly ended: readonly string[];
  /** The period into which the wished one falls: it ends when that begins. */
  readonly shortened: readonly string[];
}

export type PeriodDecision =
  | ({ readonly kind: 'write' } & PeriodWrite)
  | { readonly kind: 'unchanged'; readonly period: Period }
  | { readonly kind: 'refused'; readonly refusal: ManagementRefusal };

/**
 * A period with a start of its own is a new one: it takes the place of the running one, or follows
 * it when it begins later. One with the start of a period that is there changes that period, which
 * keeps its id and with it the use of its `monthly` windows and allotments
 * (docs/behaviour.md#windows). Of the periods to come stay those that an operator made and that
 * begin when this one has ended; renewals are made anew.
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
  const before = shownPeriod(periods, now);
  const anchorDay = same?.end === wanted.end ? same.anchorDay : anchorDayOf(wanted.start, wanted.end);
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
  if (start < 0) return refuse('invalid_request', 'a period begins in 1970 or later', 'periodStart');
  if (end <= now) return refuse('invalid_request', 'the period has ended already', 'periodEnd');
  if (renews && end - start < RENEWING_PERIOD_MS_MIN) {
    return refuse('invalid_request', 'a period that renews lasts one second or longer', 'periodEnd');
  }
  return null;
}

function isSame(period: Period, { planId, end, renews }: PeriodRequest): boolean {
  return period.planId === planId && period.end === end && period.renews === renews;
}

/**
 * Whether another period gives way: the running one to one that has begun, later ones that it
 * reaches into, renewals.
 */
function isReplaced(other: Period, wanted: PeriodRequest, now: number): boolean {
  if (other.start <= now) return wanted.start <= now;
  return other.start > wanted.start && (other.renewalOf !== null || other.start < wanted.end);
}
