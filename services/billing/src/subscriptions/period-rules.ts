import type { SubscriptionView } from '@gateway/contracts/operator';
import { spanReaching } from './calendar-rules.js';

/**
 * A stored subscription period that nobody ended before its time. Times are epoch milliseconds,
 * [start, end).
 */
export interface Period {
  readonly id: string;
  readonly account: string;
  readonly planId: string;
  readonly planVersion: number;
  readonly start: number;
  readonly end: number;
  readonly renews: boolean;
  /** Day of the month that periods of whole months go by; null: what start and end show. */
  readonly anchorDay: number | null;
  /** The period that it renews; null: an operator made it. */
  readonly renewalOf: string | null;
}

/** How long before its end a period is renewed: the next one is known before it is needed. */
export const RENEW_AHEAD_MS = 86_400_000;
/** Shortest period that renews; shorter ones would keep the worker busy and renew nothing. */
export const RENEWING_PERIOD_MS_MIN = 1_000;

/**
 * How far the clocks of billing and of the limit store may be apart. So long around the end of a
 * period admission knows both it and what follows, and goes by its own time. Between periods that
 * are shorter nothing is left of this.
 */
export const CLOCKS_APART_MS_MAX = 30_000;

/** What becomes the period after one that renews. */
export interface Renewal {
  readonly of: Period;
  readonly start: number;
  readonly end: number;
  readonly anchorDay: number | null;
}

/** The period that runs; of several the one that began last. */
export function runningPeriod(periods: readonly Period[], now: number): Period | null {
  return latest(periods.filter(({ start, end }) => start <= now && now < end));
}

/**
 * The period that stands for the account's subscription: the running one, else the one that begins
 * next.
 */
export function shownPeriod(periods: readonly Period[], now: number): Period | null {
  return runningPeriod(periods, now) ?? nextPeriod(periods, now);
}

/** The two periods that admission is told of at one time. */
export interface PublishedPeriods<One = Period> {
  readonly current: One | null;
  /** It begins after the current one. */
  readonly next: One | null;
}

/**
 * The running period and the one that follows; soon after the end of a period that one and the
 * running one.
 */
export function publishedPeriods(periods: readonly Period[], now: number): PublishedPeriods {
  const running = runningPeriod(periods, now);
  const next = nextPeriod(periods, now);
  const ended = latest(
    periods.filter(
      ({ start, end }) => end <= now && end > now - CLOCKS_APART_MS_MAX && start < (running?.start ?? Infinity),
    ),
  );
  if (ended === null) return { current: running, next };
  if (running === null) return { current: ended, next };
  return next !== null && next.start - now <= CLOCKS_APART_MS_MAX
    ? { current: running, next }
    : { current: ended, next: running };
}

/** The renewal that is to be written at `now`; null when none is. */
export function dueRenewal(periods: readonly Period[], now: number): Renewal | null {
  const renewal = comingRenewal(periods, now);
  return renewal !== null && renewalTime(renewal.of) <= now ? renewal : null;
}

/**
 * When an account is to be looked at again: admission is to be told of other periods, or one is to
 * be renewed. Null: never.
 * @param renewing false: its renewal was found to be impossible
 */
export function nextDue(periods: readonly Period[], now: number, renewing: boolean): number | null {
  const renewal = renewing ? comingRenewal(periods, now) : null;
  const published = publishedPeriods(periods, now);
  const changes = periods
    .flatMap(({ start, end }) => [start - CLOCKS_APART_MS_MAX, start, end, end + CLOCKS_APART_MS_MAX])
    .filter((time) => time > now && !areSame(published, publishedPeriods(periods, time)));
  const times = [...changes, ...(renewal === null ? [] : [Math.max(now, renewalTime(renewal.of))])];
  return times.length === 0 ? null : Math.min(...times);
}

/** A subscription period as operators see it. */
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
 * Periods that have passed while nobody renewed are left out, so that the renewal reaches beyond
 * now; a period that is there already is never covered.
 */
function comingRenewal(periods: readonly Period[], now: number): Renewal | null {
  for (const of of periods) {
    if (!of.renews) continue;
    const later = periods.filter(({ start }) => start > of.start).map(({ start }) => start);
    const following = Math.min(Infinity, ...later);
    if (following <= of.end) continue;
    const { start, end, anchorDay } = spanReaching(of, now);
    const cut = Math.min(end, following);
    if (cut > now && cut > start) return { of, start, end: cut, anchorDay };
  }
  return null;
}

/** A period shorter than the time ahead is renewed once it has begun. */
function renewalTime({ start, end }: Period): number {
  return Math.max(start, end - RENEW_AHEAD_MS);
}

function areSame(one: PublishedPeriods, other: PublishedPeriods): boolean {
  return one.current?.id === other.current?.id && one.next?.id === other.next?.id;
}

function nextPeriod(periods: readonly Period[], now: number): Period | null {
  const coming = periods.filter(({ start }) => start > now).sort((one, other) => one.start - other.start);
  return coming[0] ?? null;
}

function latest(periods: readonly Period[]): Period | null {
  return periods.reduce<Period | null>((last, one) => (last === null || one.start > last.start ? one : last), null);
}
