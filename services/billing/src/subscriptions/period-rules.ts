import type { SubscriptionView } from '@gateway/contracts/operator';
import { computeSpanReaching } from './calendar-rules.js';

/** A stored subscription period that was not ended early; [start, end) in epoch milliseconds. */
export interface Period {
  readonly id: string;
  readonly account: string;
  readonly planId: string;
  readonly planVersion: number;
  readonly start: number;
  readonly end: number;
  readonly renews: boolean;
  /** Day of the month on which the period renews; null: derived from start and end. */
  readonly anchorDay: number | null;
  /** The period that this one renews; null: an operator created this one. */
  readonly renewalOf: string | null;
}

/** The next period is created this long before the end of the current one. */
export const RENEW_AHEAD_MS = 86_400_000;
/** Shortest period that renews. Shorter ones would keep the renewal job busy without benefit. */
export const RENEWING_PERIOD_MS_MIN = 1_000;

/**
 * Maximum difference between the clocks of billing and the limit store. Within this time around the
 * end of a period, admission has both that period and the following one, and selects by its own
 * clock. Periods that are shorter than this get no such tolerance.
 */
export const CLOCK_DIFFERENCE_MS_MAX = 30_000;

/** A planned period that renews another one. */
export interface Renewal {
  readonly of: Period;
  readonly start: number;
  readonly end: number;
  readonly anchorDay: number | null;
}

/** Returns the running period; if there are several, the one that began last. */
export function findRunningPeriod(periods: readonly Period[], now: number): Period | null {
  return findLatestPeriod(periods.filter(({ start, end }) => start <= now && now < end));
}

/** Returns the period to show for the account: the running one, or else the next one. */
export function findShownPeriod(periods: readonly Period[], now: number): Period | null {
  return findRunningPeriod(periods, now) ?? nextPeriod(periods, now);
}

/** The two periods that admission gets. */
export interface PublishedPeriods<One = Period> {
  readonly current: One | null;
  /** Begins after the current one. */
  readonly next: One | null;
}

/**
 * Returns the running period and the following one. Shortly after the end of a period, returns the
 * ended period and the running one.
 */
export function selectPublishedPeriods(periods: readonly Period[], now: number): PublishedPeriods {
  const running = findRunningPeriod(periods, now);
  const next = nextPeriod(periods, now);
  const ended = findLatestPeriod(
    periods.filter(
      ({ start, end }) => end <= now && end > now - CLOCK_DIFFERENCE_MS_MAX && start < (running?.start ?? Infinity),
    ),
  );
  if (ended === null) return { current: running, next };
  if (running === null) return { current: ended, next };
  return next !== null && next.start - now <= CLOCK_DIFFERENCE_MS_MAX
    ? { current: running, next }
    : { current: ended, next: running };
}

/** Returns the renewal that is due at `now`; null if none is due. */
export function findDueRenewal(periods: readonly Period[], now: number): Renewal | null {
  const renewal = findNextRenewal(periods, now);
  return renewal !== null && computeRenewalTime(renewal.of) <= now ? renewal : null;
}

/**
 * Returns the time when the account needs work: other periods must be published to admission,
 * or one must be renewed. Null: never.
 * @param renewing false if its renewal is impossible
 */
export function computeNextDue(periods: readonly Period[], now: number, renewing: boolean): number | null {
  const renewal = renewing ? findNextRenewal(periods, now) : null;
  const published = selectPublishedPeriods(periods, now);
  const changes = periods
    .flatMap(({ start, end }) => [start - CLOCK_DIFFERENCE_MS_MAX, start, end, end + CLOCK_DIFFERENCE_MS_MAX])
    .filter((time) => time > now && !isSamePublication(published, selectPublishedPeriods(periods, time)));
  const times = [...changes, ...(renewal === null ? [] : [Math.max(now, computeRenewalTime(renewal.of))])];
  return times.length === 0 ? null : Math.min(...times);
}

/** Converts a subscription period to the operators' view. */
export function toSubscriptionView(period: Period, now: number): SubscriptionView {
  return {
    id: period.id,
    accountId: period.account,
    planId: period.planId,
    planVersion: period.planVersion,
    periodStart: new Date(period.start).toISOString(),
    periodEnd: new Date(period.end).toISOString(),
    renews: period.renews,
    active: period.start <= now && now < period.end,
  };
}

/**
 * Returns the next renewal. Skips periods that have passed without a renewal, so that the new
 * period ends after `now`. Never overlaps an existing period.
 */
function findNextRenewal(periods: readonly Period[], now: number): Renewal | null {
  for (const of of periods) {
    if (!of.renews) continue;
    const later = periods.filter(({ start }) => start > of.start).map(({ start }) => start);
    const following = Math.min(Infinity, ...later);
    if (following <= of.end) continue;
    const { start, end, anchorDay } = computeSpanReaching(of, now);
    const cut = Math.min(end, following);
    if (cut > now && cut > start) return { of, start, end: cut, anchorDay };
  }
  return null;
}

/** A period that is shorter than RENEW_AHEAD_MS is renewed after it has begun. */
function computeRenewalTime({ start, end }: Period): number {
  return Math.max(start, end - RENEW_AHEAD_MS);
}

function isSamePublication(one: PublishedPeriods, other: PublishedPeriods): boolean {
  return one.current?.id === other.current?.id && one.next?.id === other.next?.id;
}

function nextPeriod(periods: readonly Period[], now: number): Period | null {
  const coming = periods.filter(({ start }) => start > now).sort((one, other) => one.start - other.start);
  return coming[0] ?? null;
}

function findLatestPeriod(periods: readonly Period[]): Period | null {
  return periods.reduce<Period | null>((last, one) => (last === null || one.start > last.start ? one : last), null);
}
